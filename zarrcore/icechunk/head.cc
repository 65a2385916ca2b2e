#include "zarrcore/icechunk/head.h"

#include <string>
#include <utility>

namespace zarrfs {
namespace {

Result<std::shared_ptr<const IcechunkSnapshot>> ReadSnapshot(const Store& container,
                                                             const IcechunkId& id) {
  const std::string key = "snapshots/" + IcechunkIdText(id);
  auto file = ReadIcechunkFile(container, key, IcechunkFileType::kSnapshot);
  if (!file && file.error().code == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kNotFound, "{}: no such snapshot in {}", key, container.name());
  }
  if (!file) return Fail(file);
  return IcechunkSnapshot::Parse(*std::move(file), id);
}

}  // namespace

Result<std::shared_ptr<const IcechunkHead>> IcechunkHead::Read(const Store& container,
                                                               const IcechunkAt& at,
                                                               const IcechunkHead* known) {
  auto pointer = FindIcechunkPointer(container, at);
  if (!pointer) return Fail(pointer);
  auto head = std::make_shared<IcechunkHead>();
  head->pointer = *std::move(pointer);
  if (known != nullptr && known->snapshot->id() == head->pointer.snapshot) {
    head->snapshot = known->snapshot;
    return head;
  }
  auto snapshot = ReadSnapshot(container, head->pointer.snapshot);
  if (!snapshot) return Fail(snapshot);
  head->snapshot = *std::move(snapshot);
  return head;
}

}  // namespace zarrfs
