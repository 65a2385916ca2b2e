#include "zarrcore/view/made_documents.h"

#include <utility>

namespace zarrfs {
namespace {

constexpr size_t kMaxNumbers = 1u << 20;

}  // namespace

// (By digest, because the texts themselves are forgotten.)
uint64_t MadeTexts::NumberOf(std::string_view text) {
  DigestBuilder digest;
  digest.Add(text);
  const std::lock_guard lock(mutex_);
  // (A text whose number is forgotten gets another one, as if it had changed.)
  if (numbers_.size() >= kMaxNumbers) numbers_.clear();
  const auto [known, is_new] = numbers_.try_emplace(digest.Finish(), 0);
  if (is_new) known->second = ++last_number_;
  return known->second;
}

MadeTexts::Text MadeTexts::Keep(std::string text, MadeDocument& document) {
  document.text_number = NumberOf(text);
  document.size = text.size();
  text.shrink_to_fit();  // its size is what it is charged for
  auto kept = std::make_shared<const std::string>(std::move(text));
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
