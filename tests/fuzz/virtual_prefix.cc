// Input: prefixes, one per line, then an empty line, then locations, one per line.
#include "zarrcore/icechunk/virtual_prefix.h"

#include <string>
#include <vector>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/base/option_list.h"
#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

void Locate(const std::vector<VirtualPrefix>& prefixes, std::string_view location) {
  const auto folder = VirtualPrefixOf(location);
  const auto place = MatchVirtualLocation(prefixes, location);
  Require(!place || folder, "no place for what is refused", location);
  if (!folder) return;
  const std::string option = "virtual=" + folder->Text();
  Require(SplitOptions(option) == std::vector<std::string>{option}, "one option", option);
  const auto named = ParseVirtualPrefix(folder->Text());
  Require(named && *named == *folder, "a text for each prefix", location);
  const auto found = MatchVirtualLocation(std::vector{*folder}, location);
  Require(found && found->key.find('/') == found->key.npos, "a folder that covers it", location);
  if (!place) return;
  Require(!place->key.empty() && IsValidKey(place->key), "a key", place->key);
  const VirtualPrefix& prefix = prefixes[place->prefix];
  std::string key;
  for (size_t i = prefix.folders.size(); i < folder->folders.size(); ++i) {
    key = JoinKey(key, folder->folders[i]);
  }
  Require(JoinKey(key, found->key) == place->key, "the components after the prefix", place->key);
  Require(prefix.scheme == folder->scheme && prefix.authority == folder->authority, "its host");
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = zarrfs::Text(data, size);
  std::vector<zarrfs::VirtualPrefix> prefixes;
  while (!input.empty()) {
    const std::string_view line = zarrfs::CutAt(input, "\n");
    if (line.empty()) break;
    if (auto prefix = zarrfs::ParseVirtualPrefix(line)) prefixes.push_back(*std::move(prefix));
  }
  while (!input.empty()) zarrfs::Locate(prefixes, zarrfs::CutAt(input, "\n"));
  return 0;
}
