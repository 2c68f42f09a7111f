# macOS asks again before programs reach a local network.
set -eu
for key in AllowedEthernetLocalNetworkAddresses AllowedWiFiLocalNetworkAddresses; do
  without com.apple.network.local-network "$key"
done
