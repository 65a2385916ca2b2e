#include "zarrcore/icechunk/immutable_keys.h"

#include "zarrcore/icechunk/icechunk_file.h"
#include "zarrcore/icechunk/object_id.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

void ImmutableKeys::Learn(std::string_view key, std::span<const std::byte> bytes) {
  if (is_icechunk_) return;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool is_ref = key.starts_with("refs/") && key.ends_with("/ref.json");
  is_icechunk_ = (key == "repo" && IsIcechunkFile(text)) ||
                 (is_ref && ParseIcechunkRef(key, text).has_value());
}

bool ImmutableKeys::Has(std::string_view key) const {
  if (!is_icechunk_) return false;
  const std::string_view folder = FolderOf(key);
  return (folder == "chunks" || folder == "manifests" || folder == "snapshots") &&
         ParseIcechunkId(NameOf(key)).has_value();
}

}  // namespace zarrfs
