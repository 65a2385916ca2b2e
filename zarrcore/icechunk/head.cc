#include "zarrcore/icechunk/head.h"

#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/at_once.h"

namespace zarrfs {
namespace {

// The id of the first snapshot, which is the same in every repository.
constexpr std::string_view kFirstSnapshot = "1CECHNKREP0F1RSTCMT0";

using SnapshotPtr = std::shared_ptr<const IcechunkSnapshot>;

Result<SnapshotPtr> ReadSnapshot(const Store& container, const IcechunkId& id) {
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
  return ReadSnapshotOf(container, *std::move(pointer), known);
}

Result<std::shared_ptr<const IcechunkHead>> IcechunkHead::ReadSnapshotOf(
    const Store& container, IcechunkPointer pointer, const IcechunkHead* known) {
  auto head = std::make_shared<IcechunkHead>();
  head->pointer = std::move(pointer);
  if (known != nullptr) head->first_ns = known->first_ns;
  const bool has_snapshot = known != nullptr && known->snapshot != nullptr;
  if (has_snapshot && known->snapshot->id() == head->pointer.snapshot) {
    head->snapshot = known->snapshot;
    return head;
  }
  Result<SnapshotPtr> snapshot;
  const bool needs_time = known == nullptr && !container.AnswersFast();
  AtOnce(needs_time ? 2 : 1, 2, [&](size_t question) {
    if (question == 0) {
      snapshot = ReadSnapshot(container, head->pointer.snapshot);
    } else if (const auto first = ReadSnapshot(container, *ParseIcechunkId(kFirstSnapshot))) {
      head->first_ns = (*first)->time_ns();
    }
  });
  if (!snapshot) return Fail(snapshot);
  head->snapshot = *std::move(snapshot);
  return head;
}

}  // namespace zarrfs
