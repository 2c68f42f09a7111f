# The networks that programs may reach without anybody clicking: all of them, for both sorts of interfaces.
set -eu
for key in AllowedEthernetLocalNetworkAddresses AllowedWiFiLocalNetworkAddresses; do
  defaults write com.apple.network.local-network "$key" -array "$@"
done
