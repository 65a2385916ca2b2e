#include "zarrcore/store/counted_store.h"

#include <utility>

#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

// True if the store could not answer the call. kNotFound and kStale are answers.
bool IsStoreError(ErrorCode code) {
  return code == ErrorCode::kIo || code == ErrorCode::kPermissionDenied ||
         code == ErrorCode::kLinkRefused || code == ErrorCode::kTimedOut ||
         code == ErrorCode::kTooManyOpenFiles;
}

struct ThroughCounts {
  std::shared_ptr<StoreCounts> counts;

  template <typename Call>
  auto operator()(Call call) const {
    auto answer = call();
    if (!answer) counts->Failed(answer.error(), /*is_read=*/false);
    return answer;
  }
  template <typename Call, typename BytesOf>
  auto Read(Call call, BytesOf bytes_of) const {
    auto answer = call();
    if (answer) {
      counts->Read(bytes_of(answer));
    } else {
      counts->Failed(answer.error(), /*is_read=*/true);
    }
    return answer;
  }
};

}  // namespace

void StoreCounts::Failed(const Error& error, bool is_read) {
  if (is_read) counters_.Add(kReads);
  if (IsStoreError(error.code)) counters_.Add(kErrors);
}

std::shared_ptr<const Store> Count(std::shared_ptr<const Store> store,
                                   std::shared_ptr<StoreCounts> counts) {
  return std::make_shared<ThroughStore<ThroughCounts>>(std::move(store),
                                                       ThroughCounts{std::move(counts)});
}

}  // namespace zarrfs
