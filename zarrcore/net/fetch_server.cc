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
#include "zarrcore/net/bandwidth_limit.h"
#include "zarrcore/net/fetch_disk.h"
#include "zarrcore/net/fetch_job.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/redirection.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Maximum number of unanswered requests taken from the channel.
constexpr size_t kMaxJobs = 8192;
// Maximum pause before the second attempt, and before later attempts.
constexpr auto kFirstPause = milliseconds(100);
constexpr auto kLongestPause = milliseconds(5000);
// The interval at which missing credentials are polled.
constexpr auto kWaitForKey = milliseconds(50);
// One in N concurrent requests is reserved for names.
constexpr size_t kShareOfNames = 8;
// How often a cache is checked during the time that it may be silent (CacheRoute::patience()).
constexpr int kLooks = 4;
// Minimum duration of an attempt, even if its request has less time left.
constexpr auto kMinAttempt = milliseconds(1000);

using Job = FetchJob;
using Jobs = FetchJobs;

class FetchServer {
 public:
  FetchServer(const RemoteSource& source, const FetchChannel& channel,
              std::unique_ptr<DiskCache> disk, const std::function<void()>& on_refused)
      : on_refused_(on_refused),
        channel_(channel),
        memory_(FetchChannel::Map(channel.memory)),
        connections_(source.options.connections),
        bandwidth_(source.options.bandwidth),
        multi_(curl_multi_init(), curl_multi_cleanup),
        disk_(std::move(disk), [multi = multi_.get()] { curl_multi_wakeup(multi); }) {
    if (getrandom(&generation_, sizeof generation_, 0) < 0) generation_ = 1;
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    const auto connections = static_cast<long>(connections_);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    origins_.emplace_back(source, connections_);
    for (const RemoteSource& prefix : source.prefixes) origins_.emplace_back(prefix, connections_);
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
  void GiveUpAll();
  // Starts requests that are due. Requests for names come before requests for data.
  void BeginDue();
  void BeginDue(Clock::time_point now, bool is_data);
  // True if bandwidth= delays the request. What is repeated is charged, but does not wait.
  [[nodiscard]] bool IsDelayed(const Job& job, Clock::time_point now) const {
    return job.attempts == 0 && job.is_charged() && !bandwidth_.MayBegin(now);
  }
  [[nodiscard]] bool MayBegin(const Job& job) const {
    const auto may_begin = [&](size_t running, size_t limit) {
      const size_t for_names = limit == 1 ? 0 : std::max<size_t>(limit / kShareOfNames, 1);
      return running < limit - (job.is_data() ? for_names : 0);
    };
    return may_begin(running_.size(), connections_) &&
           may_begin(job.origin.running, job.origin.limit.now());
  }
  bool Begin(Jobs::iterator job);  // false if the request must wait
  void End(CURL* handle, CURLcode code);
  // Moves a job whose transfer has ended back to waiting_.
  void Stop(Jobs::iterator job);
  // Directs `get`, the next attempt of a job, to a cache, unless it must go to the store.
  static void ChooseCache(Job& job, HttpGet& get);
  // True if the reply came from a cache and is not used. The next attempt then goes to the store,
  // at once.
  bool AsksStore(Jobs::iterator job, const HttpReply& reply, const Verdict& verdict);
  // Abandons requests to caches that have been silent for too long. Their next attempts go to the
  // store.
  void AbandonSilentCaches();
  // Decides what to do with a reply. `own`: the received bytes, unless they are in the piece.
  void Decide(Jobs::iterator job, const HttpReply& reply, std::vector<std::byte> own);
  void Repeat(Jobs::iterator job, Verdict verdict, int64_t pause_s);
  void AnswerBytes(Jobs::iterator job, const HttpReply& reply, std::vector<std::byte> own);
  void AnswerError(Jobs::iterator job, const Error& error);
  void Answer(Jobs::iterator job, FetchAnswer answer);
  void SendAnswers();
  [[nodiscard]] milliseconds Pause() const;
  // The piece of a request. It must only be written, because the client can change its contents at
  // any time.
  [[nodiscard]] std::span<std::byte> PieceOf(const FetchRequest& request) const {
    return {memory_ + request.at, static_cast<size_t>(request.length)};
  }

  const std::function<void()>& on_refused_;
  const FetchChannel& channel_;
  std::byte* const memory_;
  const size_t connections_;
  BandwidthLimit bandwidth_;
  const std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi_;
  std::deque<Origin> origins_;  // indexed by FetchRequest::store; elements never move
  uint64_t generation_ = 1;
  uint64_t hello_ = 0;  // the id of the last Hello
  Jobs waiting_;        // in order of arrival
  Jobs running_;
  FetchDisk disk_;
  std::vector<std::unique_ptr<HttpTransfer>> idle_;
  std::deque<FetchAnswer> answers_;  // not sent yet
  std::minstd_rand random_{std::random_device()()};
};

void FetchServer::Take(FetchRequest request) {
  if (request.kind == FetchRequest::Kind::kHello) {
    if (std::exchange(hello_, request.id) != request.id) GiveUpAll();
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
                      .deadline = now + origin.patience(),
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

void FetchServer::GiveUpAll() {
  waiting_.clear();
  disk_.GiveUpAll();
  for (const Job& job : running_) curl_multi_remove_handle(multi_.get(), job.transfer->handle());
  for (Origin& origin : origins_) origin.running = 0;
  running_.clear();
  answers_.clear();
}

bool FetchServer::Begin(Jobs::iterator job) {
  Origin& origin = job->origin;
  if (!origin.addresses.problem().empty()) {
    AnswerError(
        job, {ErrorCode::kPermissionDenied,
              fmt::format("{}: {}", job->origin.Name(job->request), origin.addresses.problem())});
    return false;
  }
  const AwsKey* key = nullptr;
  if (origin.credentials) {
    const auto found = origin.credentials->Get();
    if (!found) {
      job->problem = {
          ErrorCode::kTimedOut,
          job->origin.Name(job->request) + ": no credentials yet (credential_process, metadata)"};
      job->next = Clock::now() + kWaitForKey;
      return false;
    }
    if (!*found) {
      AnswerError(job, {found->error().code, fmt::format("{}: {}", job->origin.Name(job->request),
                                                         found->error().message)});
      return false;
    }
    job->key = **found;
    key = &job->key;
  }
  if (idle_.empty()) idle_.push_back(std::make_unique<HttpTransfer>());
  job->transfer = std::move(idle_.back());
  idle_.pop_back();
  ++job->attempts;
  job->begun = Clock::now();
  job->clock_error_s = origin.clock_error_s;
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
  if (job->is_charged()) {
    job->charged = job->request.range.length;
    bandwidth_.Charge(job->charged, job->begun);
  }
  get.limit_ms = std::max<int64_t>(
      std::chrono::ceil<milliseconds>(job->deadline - Clock::now()).count(), kMinAttempt.count());
  job->transfer->Prepare(std::move(get));
  curl_multi_add_handle(multi_.get(), job->transfer->handle());
  running_.splice(running_.end(), waiting_, job);
  ++origin.running;
  return true;
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
  for (const bool is_data : {false, true}) BeginDue(now, is_data);
}

void FetchServer::BeginDue(Clock::time_point now, bool is_data) {
  for (auto job = waiting_.begin(); job != waiting_.end();) {
    const auto next = std::next(job);
    if (job->is_data() != is_data) {
      job = next;
      continue;
    }
    // The deadline begins when the limit lets the request begin.
    if (IsDelayed(*job, now)) {
      job->deadline = now + job->origin.patience();
    } else if (now >= job->deadline) {
      Error error = job->problem;
      if (error.message.empty()) {
        error = {ErrorCode::kTimedOut, job->origin.Name(job->request) + ": no answer in time"};
      } else if (job->attempts > 1) {
        error.message += fmt::format(", {} times", job->attempts);
      }
      AnswerError(job, error);
    } else if (MayBegin(*job) && now >= job->next) {
      Begin(job);
    }
    job = next;
  }
}

void FetchServer::End(CURL* handle, CURLcode code) {
  const auto job =
      std::ranges::find(running_, handle, [](const Job& each) { return each.transfer->handle(); });
  curl_multi_remove_handle(multi_.get(), handle);
  if (job == running_.end()) return;
  const HttpReply reply = job->transfer->Finish(code);
  FetchChannel::Count(channel_.memory, job->request.kind, reply.received);
  bandwidth_.Correct(std::exchange(job->charged, 0), job->is_charged() ? reply.received : 0);
  Stop(job);
  // The received bytes are moved out of the job. If the request must be repeated, they are freed.
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
  job->asks_store = true;
  job->next = Clock::now();
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
      Stop(job);
      job->own.clear();
      job->asks_store = true;
      job->next = now;
    }
    job = next;
  }
}

void FetchServer::Decide(Jobs::iterator job, const HttpReply& reply, std::vector<std::byte> own) {
  const bool is_list = job->request.kind == FetchRequest::Kind::kList;
  Origin& origin = job->origin;
  const std::string url = !job->redirected.empty() ? std::exchange(job->redirected, {})
                          : is_list                ? origin.source.list_url
                                                   : job->origin.UrlOf(job->request);
  Verdict verdict = Judge(reply, origin.source, job->origin.Name(job->request), url);
  using Kind = Verdict::Kind;
  if (AsksStore(job, reply, verdict)) return;
  if (reply.status != 0) origin.has_answered = true;
  if (Follows(reply, verdict, url, *job)) return;
  const bool is_elsewhere = std::exchange(job->redirections, 0) > 0;
  const bool has_secrets =
      !is_elsewhere && (!origin.source.is_virtual || origin.source.has_credentials());
  if (on_refused_ && has_secrets && (reply.status == 401 || reply.status == 403)) on_refused_();
  // A reply that a listing does not exist does not prove that the folder is empty.
  if (is_list && verdict.error.code == ErrorCode::kNotFound && verdict.kind == Kind::kError) {
    verdict.error.code = ErrorCode::kPermissionDenied;
  }
  if (verdict.slow_down || verdict.kind == Kind::kBytes || verdict.kind == Kind::kError) {
    origin.limit.Count(verdict.slow_down, job->begun, Clock::now());
  }
  if (verdict.error.code == ErrorCode::kStale && verdict.kind == Kind::kError) {
    origin.route.OnReplaced(origin.UrlOf(job->request), job->request.condition, Clock::now());
  }
  switch (verdict.kind) {
    case Kind::kBytes:
      if (job->on_disk) return disk_.OnVersion(waiting_, job, reply);
      return AnswerBytes(job, reply, std::move(own));
    case Kind::kError:
      return AnswerError(job, verdict.error);
    case Kind::kNoRange:
      if (is_list || std::exchange(job->no_range, true)) {
        return AnswerError(job,
                           {ErrorCode::kIo, job->origin.Name(job->request) + ": invalid range"});
      }
      job->on_disk.reset();
      job->next = Clock::now();
      return;
    case Kind::kOtherTime: {
      // Uses the clock error that was assumed when this request was signed. Another request may
      // have corrected origin.clock_error_s since.
      if (reply.date_s > 0) origin.clock_error_s = reply.date_s - std::time(nullptr);
      if (reply.date_s == 0 || std::abs(job->clock_error_s - origin.clock_error_s) < 10) {
        return AnswerError(job, verdict.error);
      }
      return Repeat(job, std::move(verdict), 0);
    }
    case Kind::kOtherKey:
      if (!origin.credentials || !origin.credentials->Refresh(job->key)) {
        return AnswerError(job, verdict.error);
      }
      return Repeat(job, std::move(verdict), 0);
    case Kind::kAgain:
      return Repeat(job, std::move(verdict), reply.retry_after_s);
  }
}

void FetchServer::Repeat(Jobs::iterator job, Verdict verdict, int64_t pause_s) {
  job->problem = std::move(verdict.error);
  const auto most = std::min(kLongestPause, kFirstPause * (1 << std::min(job->attempts, 8)));
  std::uniform_int_distribution<int64_t> pause(most.count() / 4, most.count());
  job->next = Clock::now() + std::max(milliseconds(pause(random_)), milliseconds(pause_s * 1000));
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
  // No event reports that the client has read its answers, so sending is retried.
  if (!answers_.empty()) pause = milliseconds(5);
  const auto now = Clock::now();
  for (const Job& job : running_) {
    if (job.cache != nullptr) pause = std::min(pause, job.origin.route.patience() / kLooks);
  }
  if (disk_.size() > 0) pause = std::min(pause, milliseconds(100));
  for (const Job& job : waiting_) {
    auto due = job.deadline;
    if (MayBegin(job)) due = std::min(due, IsDelayed(job, now) ? bandwidth_.next() : job.next);
    const auto left = std::chrono::ceil<milliseconds>(due - now);
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
  // LoadLibrariesOfFetcher() may have initialized libcurl already. The calls nest.
  curl_global_init(CURL_GLOBAL_DEFAULT);
  FetchServer(source, channel, std::move(disk), on_refused).Run();
}

}  // namespace zarrfs
