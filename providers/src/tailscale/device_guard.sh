# Stops before anything is touched if the session of whoever runs this comes in over the tailnet: it could be cut in the
# middle, and nobody would be there to go on.
# cure own-tunnel
# shellcheck disable=SC2086 # several words: both ends of the session
set -- ${SSH_CONNECTION:-}
case ${3:-} in
  100.6[4-9].* | 100.[7-9][0-9].* | 100.1[01][0-9].* | 100.12[0-7].* | fd7a:115c:a1e0:*)
    printf 'refused: this session comes in over the tailnet itself, at %s, and this change may cut it off. ' "$3" >&2
    printf 'For this change, let the connection use another address of the host, such as its public one\n' >&2
    exit 1
    ;;
esac
# end own-tunnel
