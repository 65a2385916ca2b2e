#include "zarrcore/net/fetch_server.h"

#include <curl/curl.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "zarrcore/net/aws_profile.h"
#include "zarrcore/net/fetch_disk.h"
#include "zarrcore/net/fetch_job.h"
#include "zarrcore/net/fetch_policy.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/redirection.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// While this many requests are unanswered, no further ones are received from the channel.
constexpr size_t kMaxJobs = 8192;
// Caches are checked for silence this many times within CacheRoute::timeout().
constexpr int kLooks = 4;

using Job = FetchJob;
using Jobs = FetchJobs;

class FetchServer {
 public:
  FetchServer(const RemoteSource& source, const FetchChannel& channel,
              std::unique_ptr<DiskCache> disk, const std::function<void()>& on_refused)
      : on_refused_(on_refused),
        channel_(channel),
        memory_(FetchChannel::Map(channel.memory)),
        policy_(source.options, std::random_device()()),
        multi_(curl_multi_init(), curl_multi_cleanup),
        disk_(std::move(disk), [multi = multi_.get()] { curl_multi_wakeup(multi); }) {
    if (getrandom(&generation_, sizeof generation_, 0) < 0) generation_ = 1;
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    const size_t most = source.options.connections;
    const auto connections = static_cast<long>(most);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    origins_.emplace_back(source, most);
    for (const RemoteSource& prefix : source.prefixes) origins_.emplace_back(prefix, most);
    for (Origin& origin : origins_) {
      if (!origin.exists() || !origin.source.is_s3 || origin.source.options.anonymous) continue;
      origin.credentials.emplace(origin.source,
                                 [multi = multi_.get()] { curl_multi_wakeup(multi); });
    }
  }

  void Run();

 private:
  bool Receive();  // false if the channel is closed
  void Take(FetchRequest request);
  void AbandonAll();
  // Sends the requests that are due. Requests for names come before requests for data; see
  // FetchPolicy::IsData().
  void BeginDue();
  void Begin(Jobs::iterator job);
  void End(CURL* handle, CURLcode code);
  // Moves a job whose transfer has ended from running_ to the front of waiting_.
  void Stop(Jobs::iterator job);
  // Sends the next attempt of a job, `get`, to a cache instead of the store, if a cache may be
  // used.
  static void ChooseCache(Job& job, HttpGet& get);
  // If the reply came from a cache and cannot be used, makes the job try the store at once and
  // returns true.
  bool AsksStore(Jobs::iterator job, const HttpReply& reply, const Verdict& verdict);
  // Abandons requests to caches that have been silent for too long, and sends these requests to the
  // store instead.
  void AbandonSilentCaches();
  // Processes a reply: answers the client, or schedules another attempt. `own`: the received bytes
  // if they went to FetchJob::own, otherwise empty.
  void Decide(Jobs::iterator job, const HttpReply& reply, std::vector<std::byte> own);
  void AnswerBytes(Jobs::iterator job, const HttpReply& reply, std::vector<std::byte> own);
  void AnswerError(Jobs::iterator job, const Error& error);
  void Answer(Jobs::iterator job, FetchAnswer answer);
  void SendAnswers();
  [[nodiscard]] milliseconds Pause() const;
  // The part of the shared memory for the bytes of a request. The server must never read from it,
  // because the client can change its contents at any time.
  [[nodiscard]] std::span<std::byte> PieceOf(const FetchRequest& request) const {
    return {memory_ + request.at, static_cast<size_t>(request.length)};
  }

  const std::function<void()>& on_refused_;
  const FetchChannel& channel_;
  std::byte* const memory_;
  FetchPolicy policy_;
  const std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi_;
  std::deque<Origin> origins_;  // indexed by FetchRequest::store; elements never move
  uint64_t generation_ = 1;
  uint64_t hello_ = 0;  // the id of the last Hello; another id means a new client
  // Jobs that have no running transfer. A job whose transfer has ended is put at the front, a job
  // that comes back from disk_ at the end.
  Jobs waiting_;
  Jobs running_;
  FetchDisk disk_;
  std::vector<std::unique_ptr<HttpTransfer>> idle_;
  std::deque<FetchAnswer> answers_;  // not sent yet
};

void FetchServer::Take(FetchRequest request) {
  if (request.kind == FetchRequest::Kind::kHello) {
    if (std::exchange(hello_, request.id) != request.id) AbandonAll();
    answers_.push_back({.id = request.id, .generation = generation_});
    return;
  }
  if (request.generation != generation_) return;
  const bool is_piece = request.length <= FetchChannel::kMemory &&
                        request.at <= FetchChannel::kMemory - request.length;
  const bool is_range = request.kind == FetchRequest::Kind::kList ||
                        (request.range.length > 0 && request.range.length <= request.length &&
                         request.range.offset <= UINT64_MAX - request.range.length);
  const bool is_store =
      request.store < origins_.size() && origins_[request.store].exists() &&
      (request.store == 0 || (request.kind == FetchRequest::Kind::kGet && !request.key.empty()));
  if (!is_piece || !is_range || !is_store || !IsHeaderText(request.condition) ||
      !IsValidKey(request.key)) {
    answers_.push_back({.id = request.id,
                        .error = ErrorCode::kInvalidArgument,
                        .message = fmt::format("{}: not a key", request.key)});
    return;
  }
  const auto now = Clock::now();
  Origin& origin = origins_[request.store];
  waiting_.push_back({.request = std::move(request),
                      .origin = origin,
                      .deadline = FetchPolicy::DeadlineOf(origin, now),
                      .next = now});
  disk_.Ask(waiting_, std::prev(waiting_.end()));
}

bool FetchServer::Receive() {
  while (waiting_.size() + running_.size() + disk_.size() + answers_.size() < kMaxJobs) {
    auto request = ReceiveRequest(channel_.server, /*waits=*/false);
    if (!request) return errno == EAGAIN;
    Take(*std::move(request));
  }
  return true;
}

void FetchServer::AbandonAll() {
  waiting_.clear();
  disk_.AbandonAll();
  for (const Job& job : running_) curl_multi_remove_handle(multi_.get(), job.transfer->handle());
  for (Origin& origin : origins_) origin.running = 0;
  running_.clear();
  answers_.clear();
}

void FetchServer::Begin(Jobs::iterator job) {
  Origin& origin = job->origin;
  if (!origin.addresses.problem().empty()) {
    AnswerError(
        job, {ErrorCode::kPermissionDenied,
              fmt::format("{}: {}", job->origin.Name(job->request), origin.addresses.problem())});
    return;
  }
  const AwsKey* key = nullptr;
  if (origin.credentials) {
    const auto found = origin.credentials->Get();
    if (!found) {
      FetchPolicy::WaitForKey(*job, Clock::now());
      return;
    }
    if (!*found) {
      AnswerError(job, {found->error().code, fmt::format("{}: {}", job->origin.Name(job->request),
                                                         found->error().message)});
      return;
    }
    job->key = **found;
    key = &job->key;
  }
  if (idle_.empty()) idle_.push_back(std::make_unique<HttpTransfer>());
  job->transfer = std::move(idle_.back());
  idle_.pop_back();
  policy_.OnBegin(*job, Clock::now());
  HttpGet get = origin.addresses.Of(job->request, key, std::time(nullptr) + origin.clock_error_s);
  if (job->request.kind == FetchRequest::Kind::kGet) {
    get.range = job->no_range  ? ByteRange{}
                : job->on_disk ? ByteRange::At(0, 1)
                               : job->request.range;
  }
  get.into = PieceOf(job->request);
  if (disk_.MayKeep(*job, running_)) {
    job->own.resize(static_cast<size_t>(job->request.range.length));
    get.into = job->own;
  }
  if (job->redirected.empty()) {
    ChooseCache(*job, get);
  } else {
    Redirect(job->redirected, get);
    job->cache = nullptr;
  }
  get.limit_ms = FetchPolicy::LimitOf(*job, Clock::now()).count();
  job->transfer->Prepare(std::move(get));
  curl_multi_add_handle(multi_.get(), job->transfer->handle());
  running_.splice(running_.end(), waiting_, job);
  ++origin.running;
}

void FetchServer::ChooseCache(Job& job, HttpGet& get) {
  Origin& origin = job.origin;
  const std::string url = origin.CachedUrlOf(job.request);
  job.cache = job.asks_store ? nullptr : origin.route.Choose(job.request, url, job.begun);
  if (job.cache == nullptr) return;
  const auto now_ms =
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  origin.route.Direct(*job.cache, job.request, url, now_ms.count(), get);
  job.heard = 0;
  job.heard_at = job.begun;
}

void FetchServer::BeginDue() {
  const auto now = Clock::now();
  for (const bool is_data : {false, true}) {
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      const auto next = std::next(job);
      if (FetchPolicy::IsData(*job) == is_data) {
        const FetchPolicy::Due due = policy_.DueAt(*job, running_.size(), now);
        if (due == FetchPolicy::Due::kTooLate) AnswerError(job, FetchPolicy::TooLate(*job));
        if (due == FetchPolicy::Due::kNow) Begin(job);
      }
      job = next;
    }
  }
}

void FetchServer::End(CURL* handle, CURLcode code) {
  const auto job =
      std::ranges::find(running_, handle, [](const Job& each) { return each.transfer->handle(); });
  curl_multi_remove_handle(multi_.get(), handle);
  if (job == running_.end()) return;
  const HttpReply reply = job->transfer->Finish(code);
  FetchChannel::Count(channel_.memory, job->request.kind, reply.received);
  policy_.OnEnd(*job, reply.received);
  Stop(job);
  // Moves the received bytes out of the job, so they are freed if the request must be repeated.
  Decide(job, reply, std::exchange(job->own, {}));
}

void FetchServer::Stop(Jobs::iterator job) {
  idle_.push_back(std::move(job->transfer));
  waiting_.splice(waiting_.begin(), running_, job);
  --job->origin.running;
}

bool FetchServer::AsksStore(Jobs::iterator job, const HttpReply& reply, const Verdict& verdict) {
  if (job->cache == nullptr) return false;
  CacheRoute& route = job->origin.route;
  const bool is_taken = route.Takes(*job->cache, job->request, reply, verdict, Clock::now());
  FetchChannel::CountCache(channel_.memory, !is_taken ? &FetchCounts::cache_failures
                                            : reply.cache_status == "HIT"
                                                ? &FetchCounts::cache_hits
                                                : &FetchCounts::cache_misses);
  if (is_taken) return false;
  FetchPolicy::AskStore(*job, Clock::now());
  return true;
}

void FetchServer::AbandonSilentCaches() {
  const auto now = Clock::now();
  for (Job& job : running_) {
    if (job.cache == nullptr || job.transfer->heard() == job.heard) continue;
    job.heard = job.transfer->heard();
    job.heard_at = job.cache->heard = now;
  }
  for (auto job = running_.begin(); job != running_.end();) {
    const auto next = std::next(job);
    if (job->cache != nullptr && job->origin.route.IsSilent(*job->cache, job->heard_at, now)) {
      job->origin.route.OnSilent(*job->cache, job->heard_at, now);
      FetchChannel::CountCache(channel_.memory, &FetchCounts::cache_failures);
      curl_multi_remove_handle(multi_.get(), job->transfer->handle());
      policy_.OnEnd(*job, 0);
      Stop(job);
      job->own.clear();
      FetchPolicy::AskStore(*job, now);
    }
    job = next;
  }
}

void FetchServer::Decide(Jobs::iterator job, const HttpReply& reply, std::vector<std::byte> own) {
  Origin& origin = job->origin;
  const bool is_list = job->request.kind == FetchRequest::Kind::kList;
  const std::string url = !job->redirected.empty() ? std::exchange(job->redirected, {})
                          : is_list                ? origin.source.list_url
                                                   : origin.UrlOf(job->request);
  Verdict verdict = Judge(reply, origin.source, origin.Name(job->request), url);
  if (AsksStore(job, reply, verdict)) return;
  const FetchPolicy::Decision decision =
      policy_.Decide(*job, reply, std::move(verdict), url, Clock::now(), std::time(nullptr),
                     [&] { return origin.credentials && origin.credentials->Refresh(job->key); });
  if (decision.is_refused && on_refused_) on_refused_();
  switch (decision.kind) {
    case FetchPolicy::Decision::Kind::kBytes:
      return AnswerBytes(job, reply, std::move(own));
    case FetchPolicy::Decision::Kind::kVersion:
      return disk_.OnVersion(waiting_, job, reply);
    case FetchPolicy::Decision::Kind::kError:
      return AnswerError(job, decision.error);
    case FetchPolicy::Decision::Kind::kRepeat:
      return;
  }
}

void FetchServer::AnswerBytes(Jobs::iterator job, const HttpReply& reply,
                              std::vector<std::byte> own) {
  if (!own.empty()) {
    own.resize(static_cast<size_t>(reply.length));
    own.shrink_to_fit();
    std::ranges::copy(own, PieceOf(job->request).begin());
    Origin& origin = job->origin;
    if (reply.offset == 0 && !origin.source.is_virtual)
      origin.immutable.Learn(job->request.key, own);
    disk_.Keep(*job, reply, std::move(own));
  }
  Answer(job, {.size = reply.size.value_or(0),
               .modified_ns = reply.modified_ns,
               .offset = reply.offset,
               .length = reply.length,
               .etag = reply.etag});
}

void FetchServer::AnswerError(Jobs::iterator job, const Error& error) {
  Answer(job, {.error = error.code, .message = error.message});
}

void FetchServer::Answer(Jobs::iterator job, FetchAnswer answer) {
  answer.id = job->request.id;
  answers_.push_back(std::move(answer));
  waiting_.erase(job);
}

void FetchServer::SendAnswers() {
  for (Origin& origin : origins_) {
    while (auto notice = origin.route.TakeNotice()) {
      answers_.push_back({.id = 0, .generation = generation_, .message = *std::move(notice)});
    }
  }
  while (!answers_.empty() && Send(channel_.server, answers_.front())) answers_.pop_front();
}

milliseconds FetchServer::Pause() const {
  auto pause = milliseconds(1000);
  // No event reports that the socket accepts answers again, so sending is retried.
  if (!answers_.empty()) pause = milliseconds(5);
  const auto now = Clock::now();
  for (const Job& job : running_) {
    if (job.cache != nullptr) pause = std::min(pause, job.origin.route.timeout() / kLooks);
  }
  if (disk_.size() > 0) pause = std::min(pause, milliseconds(100));
  for (const Job& job : waiting_) {
    const auto change = policy_.NextChange(job, running_.size(), now);
    const auto left = std::chrono::ceil<milliseconds>(change - now);
    pause = std::clamp(left, milliseconds(0), pause);
  }
  return pause;
}

void FetchServer::Run() {
  if (memory_ == nullptr) return;
  answers_.push_back({.id = 0, .generation = generation_});
  for (;;) {
    disk_.Take(
        waiting_, [this](const FetchRequest& request) { return PieceOf(request); },
        [this](FetchAnswer answer) { answers_.push_back(std::move(answer)); });
    AbandonSilentCaches();
    SendAnswers();
    BeginDue();
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    bool has_ended = false;
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      has_ended = true;
      End(message->easy_handle, message->data.result);
    }
    if (has_ended) continue;
    curl_waitfd socket = {channel_.server.get(), CURL_WAIT_POLLIN, 0};
    curl_multi_poll(multi_.get(), &socket, 1, static_cast<int>(Pause().count()), nullptr);
    if (!Receive()) return;
  }
}

}  // namespace

void RunFetchServer(const RemoteSource& source, const FetchChannel& channel,
                    std::unique_ptr<DiskCache> disk, const std::function<void()>& on_refused) {
  // LoadLibrariesOfFetcher() may have called this function already; libcurl allows repeated calls.
  curl_global_init(CURL_GLOBAL_DEFAULT);
  FetchServer(source, channel, std::move(disk), on_refused).Run();
}

}  // namespace zarrfs
