# Waits so many seconds for the VMs that run, whoever started them, and says which still do.
wait_for_vms() {
  n=0
  while q=$(ps -A -ww -o args= | sed -n 's!^\([^ ]*/\)\{0,1\}tart  *run  *\(.*\)$!\2!p' | tr '\n' ' ') && [ -n "$q" ]; do
    if [ "$n" -ge "$1" ]; then
      printf '%s' "${q% }"
      return 1
    fi
    sleep 1
    n=$((n + 1))
  done
}
