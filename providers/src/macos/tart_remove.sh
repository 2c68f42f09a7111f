# Lets nobody take Tart from under VMs that run: for how many seconds they are waited for.
if ! q=$(wait_for_vms "$1"); then
  printf '%s\n' "Tart is not removed while VMs run with it, and these do: $q. Let them end first, or give \`wait\` more seconds" >&2
  exit 1
fi
