#include "zarrcore/hierarchy/made_documents.h"

#include <utility>

#include "zarrcore/base/digest.h"

namespace zarrfs {

bool IsLessOpen(const ObjectInfo& less, const ObjectInfo& more) {
  const uint32_t classes = less.uid == more.uid && less.gid == more.gid ? 0444 : 0004;
  if (classes == 0004 && (less.mode & 0004) == 0) return (more.mode & 0444) != 0;
  return (more.mode & ~less.mode & classes) != 0;
}

MadeTexts::Text MadeTexts::Keep(std::string text, MadeDocument& document,
                                MemoryBudget::Share memory) {
  DigestBuilder digest;
  digest.Add(text);
  document.text_number = DigestHash{}(digest.Finish());
  document.size = text.size();
  text.shrink_to_fit();  // the cache charges the size, not the capacity
  memory.ShrinkTo(text.size());
  struct Kept {
    std::string text;
    MemoryBudget::Share memory;
  };
  const auto owner = std::make_shared<const Kept>(Kept{std::move(text), std::move(memory)});
  Text kept(owner, &owner->text);
  texts_.Put(document.text_number, kept, document.size);
  return kept;
}

Result<MadeTexts::Text> MadeTexts::Get(uint64_t number, std::string_view path,
                                       const std::function<Result<uint64_t>(Text&)>& make) {
  Text text = texts_.Get(number);
  if (text != nullptr) return text;
  const auto made = make(text);
  if (!made) return Fail(made);
  if (*made == number && text != nullptr) return text;
  return Fail(ErrorCode::kStale, "{}: its metadata have changed", path);
}

}  // namespace zarrfs
