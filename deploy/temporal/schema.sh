#!/bin/sh
# Creates both databases, or brings them to this version's schema. May be run any number of times.
set -eu

tool() {
  temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_SEEDS" -p "$DB_PORT" -u "$POSTGRES_USER" "$@"
}

prepare() {
  database=$1
  schema=$2
  tool --db "$database" create
  # A database that has a version is past this step, and it would reset that version.
  tool --db "$database" setup-schema -v 0.0 || echo "$database has a schema already"
  tool --db "$database" update-schema --schema-name "$schema"
}

prepare temporal postgresql/v12/temporal
prepare temporal_visibility postgresql/v12/visibility
echo 'schema ready'
