# A namespace of Temporal Cloud for payouts: its search attributes, and a service account for our processes that may use this
# namespace and no other. The API key expires; docs/temporal-cloud.md says how to replace it.

terraform {
  required_providers {
    temporalcloud = {
      source  = "temporalio/temporalcloud"
      version = "~> 1.2"
    }
  }
}

variable "region" {
  type    = string
  default = "aws-us-east-1"
}

# RFC 3339. At most a year from now.
variable "api_key_expires_at" {
  type = string
}

resource "temporalcloud_namespace" "payouts" {
  name         = "payouts-production"
  regions      = [var.region]
  api_key_auth = true
  # Longer than the last check of a follow-up, 30 days after the end.
  retention_days = 45
}

resource "temporalcloud_namespace_search_attribute" "payouts" {
  for_each = {
    PayoutPhase          = "keyword"
    PayoutOutcome        = "keyword"
    PayoutApp            = "keyword"
    PayoutOrderId        = "keyword"
    PayoutAuditStatus    = "keyword"
    PayoutPair           = "keyword"
    PayoutNeedsAttention = "bool"
    PayoutReasons        = "keyword_list"
    PayoutKeys           = "keyword_list"
    PayoutStartedAt      = "datetime"
  }
  namespace_id = temporalcloud_namespace.payouts.id
  name         = each.key
  type         = each.value
}

resource "temporalcloud_service_account" "payouts" {
  name = "payouts-production"
  # Only this namespace, without a role in the account.
  namespace_scoped_access = {
    namespace_id = temporalcloud_namespace.payouts.id
    permission   = "write"
  }
}

resource "temporalcloud_apikey" "payouts" {
  display_name = "payouts-production"
  owner_type   = "service-account"
  owner_id     = temporalcloud_service_account.payouts.id
  expiry_time  = var.api_key_expires_at
}

output "api_key" {
  value     = temporalcloud_apikey.payouts.token
  sensitive = true
}
