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

void MadeTexts::Keep(std::string text, MadeDocument& document) {
  document.text_number = NumberOf(text);
  document.size = text.size();
  texts_.Put(document.text_number, std::make_shared<const std::string>(std::move(text)),
             document.size);
}

Result<MadeTexts::Text> MadeTexts::Get(uint64_t number, std::string_view path,
                                       const std::function<Result<uint64_t>()>& make) {
  if (auto text = texts_.Get(number)) return text;
  const auto made = make();
  if (!made) return Fail(made);
  auto text = *made == number ? texts_.Get(number) : nullptr;
  if (text == nullptr) return Fail(ErrorCode::kStale, "{}: its metadata have changed", path);
  return text;
}

}  // namespace zarrfs
