# Writes the anchor file of the translation for VMs, by the interfaces that there are at this moment. What follows brings
# it into force. Interfaces come and go: a tunnel gets another number, a VLAN gets its address late, and the translation
# that macOS itself has may be lost after many VMs.
#
# Before it stand the networks of the VMs, of the services and of the private network.
set -eu
R=${FLEET_ROOT-}
rules=$R/etc/pf.anchors/${1##*/}

# By which interface an address is reached.
way() {
  route -n get "$1" 2>/dev/null | awk '$1 == "interface:" { print $2 }'
}

{
  echo "# Written by a daemon: what is changed here is overwritten."
  # The way to services leads through a tunnel, whose packets are small. Scrub comes before nat.
  tunnel=
  if [ -n "$service" ]; then
    case $(way "${service%/*}") in
      utun*) tunnel=$(way "${service%/*}") ;;
    esac
  fi
  if [ -n "$tunnel" ]; then
    echo "scrub on $tunnel proto tcp from $vms to $service max-mss 1200"
    echo "scrub on $tunnel proto tcp from $service to $vms max-mss 1200"
    echo "nat on $tunnel from $vms to $service -> ($tunnel)"
  fi
  # A route to the private network names the interface below the VLAN, so that all VLANs are taken, with an address or not.
  if [ -n "$private" ]; then
    for interface in $(ifconfig -l); do
      case $interface in
        vlan*) echo "nat on $interface from $vms to $private -> ($interface)" ;;
      esac
    done
  fi
  default=$(way default)
  if [ -n "$default" ]; then
    echo "nat on $default from $vms to ${private:+! }${private:-any} -> ($default)"
  fi
} >"$rules.new"
if cmp -s "$rules.new" "$rules"; then rm -f "$rules.new"; else mv -f "$rules.new" "$rules"; fi

