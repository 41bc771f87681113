#!/bin/sh
# Makes the namespace and the search attributes that are missing. May be run any number of times.
set -eu

# Longer than the last look at a finished payout, 30 days after its end.
RETENTION=45d

# Tries for two minutes; only the last failure is shown.
patiently() {
  attempt=0
  until "$@" >/dev/null 2>&1; do
    attempt=$((attempt + 1))
    [ "$attempt" -lt 60 ] || { "$@"; exit 1; }
    sleep 2
  done
}

patiently temporal operator cluster health

if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A new namespace is known to every part of the server only after some seconds.
patiently temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE"
known=$(temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE")
for attribute in PayoutPhase=Keyword PayoutOutcome=Keyword PayoutApp=Keyword PayoutOrderId=Keyword \
  PayoutAuditStatus=Keyword PayoutPair=Keyword PayoutNeedsAttention=Bool PayoutReasons=KeywordList PayoutKeys=KeywordList \
  PayoutStartedAt=Datetime; do
  name=${attribute%=*}
  case "$known" in
    *"$name"*) continue ;;
  esac
  temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
    --name "$name" --type "${attribute#*=}"
done
echo 'namespace ready'
