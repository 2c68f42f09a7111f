# Mac minis for CI, in three fleets that share one pool: nodes of Kubernetes whose Pods are VMs, such nodes for the jobs of
# others, and builders that bake the images of those VMs. See README.md.

# Whose machines these are comes from SCW_SECRET_KEY and SCW_DEFAULT_PROJECT_ID.
provider "scaleway" {}

# The way to the cluster comes from KUBECONFIG; `in_cluster` is for a fleet that runs as a Job there.
provider "kubernetes" {}

# As whom the tailnet is asked comes from TAILSCALE_OAUTH_CLIENT_ID and TAILSCALE_OAUTH_CLIENT_SECRET.
provider "tailscale" {
  device_cap = var.tailnet.device_cap
}

# As which App GitHub is asked comes from GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY.
provider "github" {}

secret "key" {
  from = "file:${var.key}"
}

# Keys and tokens that are made when a Mac needs them, and good for an hour.
secret "tailnet_key" {
  from     = "auth-key:${join(",", var.tailnet.tags)}"
  provider = tailscale
}

secret "runner_token" {
  from     = "registration-token:${var.github_url}"
  provider = github
}

# Scaleway puts the keys of the project on a machine when it is installed, and never again: so this comes first.
resource "scaleway_ssh_key" "fleet" {
  name       = "ci-${var.env}"
  public_key = file("${var.key}.pub")
}

# What the agent on a Mac may do in the cluster.
resource "kubernetes_manifest" "agents" {
  manifest = {
    apiVersion = "rbac.authorization.k8s.io/v1"
    kind       = "ClusterRole"
    metadata   = { name = "tart-kubelet-${var.env}" }
    rules = [
      { apiGroups = [""], resources = ["nodes", "nodes/status"], verbs = ["get", "list", "watch", "create", "update", "patch"] },
      { apiGroups = [""], resources = ["pods", "pods/status", "pods/finalizers"], verbs = ["get", "list", "watch", "update", "patch", "delete"] },
      { apiGroups = [""], resources = ["secrets", "configmaps", "serviceaccounts", "services"], verbs = ["get", "list", "watch"] },
      { apiGroups = [""], resources = ["serviceaccounts/token"], verbs = ["create"] },
      { apiGroups = ["", "events.k8s.io"], resources = ["events"], verbs = ["create", "patch"] },
      { apiGroups = ["coordination.k8s.io"], resources = ["leases"], verbs = ["get", "create", "update", "patch"] },
    ]
  }
}

# Pods of Macs that are gone: the agent that would clean up after their VMs is gone as well.
resource "kubernetes_stuck_pods" "vms" {
  finalizer = var.cluster.finalizer
}

# What VMs reach of it, such as caches, is beside the Macs; a VLAN leads there.
resource "scaleway_private_network" "ci" {
  count  = var.reaches.private_network == null ? 0 : 1
  name   = "ci-${var.env}"
  subnet = var.reaches.private_network
  region = "fr-par"
}

locals {
  zone = "fr-par-1"

  cluster = {
    namespace   = var.cluster.namespace
    role        = kubernetes_manifest.agents.name
    egress      = var.cluster.egress
    proxy_group = var.cluster.proxy_group
  }
}

# One pool for all: a machine that one fleet gives back is the next one's.
pool "scaleway" "minis" {
  zone      = local.zone
  prefix    = "pool-" # a machine with such a name is free
  type      = "M2-L"
  os_family = "Tahoe"
  min_free  = 1 # a plan that leaves fewer says so
  ssh_keys  = [scaleway_ssh_key.fleet]

  settle         = var.times.settle
  delay          = var.times.delay
  check_lifetime = var.times.check_lifetime
  hold           = var.times.hold
  poll           = var.times.poll

  return {
    method   = var.return_method
    deadline = "45m"
  }
}

# Nodes for services of our own, whose Pods are VMs.
fleet "macos" {
  pool     = pool.minis
  size     = var.sizes.macos
  hostname = "${var.env}-macos-${host.key}"

  connection "ssh" {
    user     = "m1"
    identity = secret.key
    config   = var.ssh_config
  }

  # The vendor may keep the password to itself: then it is null, and what is on the Mac stays.
  data "scaleway_credentials" "this" {
    server = host.provider_id
  }

  resource "scaleway_private_network_attachment" "ci" {
    count              = length(scaleway_private_network.ci)
    server_id          = basename(host.provider_id)
    private_network_id = scaleway_private_network.ci[count.index].id
    zone               = local.zone
  }

  module "mac" {
    source       = "../../modules/mac-node"
    name         = host.name
    installation = host.id
    env          = var.env
    password     = data.scaleway_credentials.this.password
    reaches      = var.reaches
    vlan         = one(scaleway_private_network_attachment.ci[*].vlan)
    ssh_allowed  = var.ssh_allowed
    programs     = var.programs
    tailnet      = var.tailnet
    tailnet_key  = secret.tailnet_key
    cluster      = local.cluster
    provider_id  = host.provider_id
    labels       = { "example.org/fleet" = "macos" }
    logs         = var.logs
  }
}

# Nodes for the jobs of others: one VM each, with a cache that cannot fill the disk.
fleet "runners" {
  pool     = pool.minis
  size     = var.sizes.runners
  hostname = "${var.env}-runner-${host.key}"

  connection "ssh" {
    user     = "m1"
    identity = secret.key
    config   = var.ssh_config
  }

  # The vendor may keep the password to itself: then it is null, and what is on the Mac stays.
  data "scaleway_credentials" "this" {
    server = host.provider_id
  }

  resource "scaleway_private_network_attachment" "ci" {
    count              = length(scaleway_private_network.ci)
    server_id          = basename(host.provider_id)
    private_network_id = scaleway_private_network.ci[count.index].id
    zone               = local.zone
  }

  module "mac" {
    source       = "../../modules/mac-node"
    name         = host.name
    installation = host.id
    env          = var.env
    password     = data.scaleway_credentials.this.password
    reaches      = var.reaches
    vlan         = one(scaleway_private_network_attachment.ci[*].vlan)
    ssh_allowed  = var.ssh_allowed
    programs     = var.programs
    tailnet      = var.tailnet
    tailnet_key  = secret.tailnet_key
    cluster      = local.cluster
    provider_id  = host.provider_id
    labels       = { "example.org/fleet" = "runners" }
    logs         = var.logs
    cache        = var.cache
  }
}

# Macs that bake images of VMs, as jobs of GitHub Actions. Their labels count for the whole organisation: where another
# environment has builders as well, it takes the jobs of this one.
fleet "builders" {
  pool     = pool.minis
  size     = var.sizes.builders
  hostname = "${var.env}-builder-${host.key}"

  connection "ssh" {
    user     = "m1"
    identity = secret.key
    config   = var.ssh_config
  }

  # The vendor may keep the password to itself: then it is null, and what is on the Mac stays.
  data "scaleway_credentials" "this" {
    server = host.provider_id
  }

  resource "scaleway_private_network_attachment" "ci" {
    count              = length(scaleway_private_network.ci)
    server_id          = basename(host.provider_id)
    private_network_id = scaleway_private_network.ci[count.index].id
    zone               = local.zone
  }

  module "mac" {
    source        = "../../modules/mac-node"
    name          = host.name
    installation  = host.id
    env           = var.env
    password      = data.scaleway_credentials.this.password
    reaches       = var.reaches
    vlan          = one(scaleway_private_network_attachment.ci[*].vlan)
    ssh_allowed   = var.ssh_allowed
    programs      = var.programs
    tailnet       = var.tailnet
    tailnet_key   = secret.tailnet_key
    cluster       = local.cluster
    provider_id   = host.provider_id
    labels        = { "example.org/fleet" = "builders" }
    logs          = var.logs
    disable_vm_gc = true # an image that is being baked is a VM without a Pod
  }

  module "runner" {
    source      = "../../modules/github-runner"
    name        = host.name
    url         = var.github_url
    token       = secret.runner_token
    runner      = { version = var.runner.version, source = var.runner.source, sha256 = filesha256(var.runner.source) }
    homebrew    = { source = var.homebrew, sha256 = filesha256(var.homebrew) }
    build_cache = { path = "/opt/build-cache", variable = "BUILD_CACHE" }

    # A job of it uses what is on the Mac: so it comes last, and goes first.
    depends_on = [module.mac]
  }
}

output "hosts" {
  description = "All Macs, and where they are"
  value = merge(
    { for slot in fleet.macos : slot.host.name => slot.host.address },
    { for slot in fleet.runners : slot.host.name => slot.host.address },
    { for slot in fleet.builders : slot.host.name => slot.host.address },
  )
}
