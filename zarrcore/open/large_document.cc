#include "zarrcore/open/large_document.h"

#include <utility>

#include "zarrcore/metadata/consolidated_member.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

Result<LargeDocument> ReadLarge(const Store& store, const std::string& key) {
  LargeDocument document;
  auto whole = ReadWhole(store, key, kMaxConsolidatedBytes, [&](uint64_t size) -> Result<void> {
    auto memory = ProcessMemory().Take(size);
    if (!memory) return Fail(memory.error().code, "{}: {}", key, memory.error().message);
    document.memory = *std::move(memory);
    return {};
  });
  if (!whole) return Fail(whole);
  document.text = std::move(whole->bytes);
  document.info = whole->object->info();
  return document;
}

Result<std::string> ReadWithoutNodes(const Store& store, const std::string& key) {
  auto document = ReadLarge(store, key);
  if (!document) return Fail(document);
  EraseConsolidated(document->text);
  if (document->text.size() > kMaxMetadataBytes) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", key,
                kMaxMetadataBytes, document->text.size());
  }
  return std::move(document->text);
}

}  // namespace zarrfs
