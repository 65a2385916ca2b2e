#include "zarrcore/net/credentials.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/net/aws_profile.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/open_process.h"

namespace zarrfs {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxText = 64u << 10;
// A key is replaced kEarlyS seconds before it expires. Two searches for a key are at least
// kMinPause apart, even if the first one fails.
constexpr int64_t kEarlyS = 300;
constexpr auto kMinPause = std::chrono::seconds(10);
// Time limits for connecting to a metadata service of this machine and to other servers, in
// seconds. The whole request for a key may take twice as long.
constexpr long kLocalSeconds = 2;
constexpr long kRemoteSeconds = 10;
// Time limit of a credential_process, and how long the program may run after closing its output.
constexpr auto kProgramLimit = std::chrono::seconds(60);
constexpr auto kProgramEnd = std::chrono::seconds(2);
constexpr int kKillMs = 1000;

size_t Collect(char* bytes, size_t size, size_t count, void* text) {
  auto& all = *static_cast<std::string*>(text);
  if (all.size() + size * count > kMaxText) return 0;
  all.append(bytes, size * count);
  return size * count;
}

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers = {};
  bool puts = false;
  std::string form = {};  // the form to send with POST; "" for none
  long seconds = kLocalSeconds;
  bool through_proxy = false;
};

// Sends a request for a key. Returns the body of a response with status 200; otherwise "".
std::string AskServer(const HttpRequest& request) {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (curl == nullptr) return "";
  std::string text;
  curl_slist* headers = nullptr;
  for (const std::string& line : request.headers)
    headers = curl_slist_append(headers, line.c_str());
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(curl.get(), option, value);
  };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, request.seconds);
  set(CURLOPT_TIMEOUT, request.seconds * 2);
  set(CURLOPT_WRITEFUNCTION, &Collect);
  set(CURLOPT_WRITEDATA, &text);
  if (!request.through_proxy) set(CURLOPT_NOPROXY, "*");
  if (request.puts) set(CURLOPT_CUSTOMREQUEST, "PUT");
  if (!request.form.empty()) set(CURLOPT_POSTFIELDS, request.form.c_str());
  const std::string certificates = CertificatesFile(/*is_s3=*/true);
  if (!certificates.empty()) set(CURLOPT_CAINFO, certificates.c_str());
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(headers);
  return code == CURLE_OK && status == 200 ? std::string(WithoutBlanks(text)) : "";
}

std::string TextIn(const Json& json, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const auto found = json.find(name);
    if (found != json.end() && found->is_string()) return found->get<std::string>();
  }
  return "";
}

// Parses a time such as "2026-11-23T12:34:56Z" or "2026-11-23T12:34:56.5+01:00". Returns Unix time
// in seconds.
std::optional<int64_t> ParseTime(const std::string& text) {
  std::tm time = {};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return std::nullopt;
  const int64_t seconds = timegm(&time);
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  std::tm zone = {};
  if (strptime(rest, "%z", &zone) == nullptr) return seconds;
  return seconds - zone.tm_gmtoff;
}

// Parses the JSON that a credential_process or a metadata service returns.
std::optional<ExpiringKey> KeyInJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  ExpiringKey found{{TextIn(json, {"AccessKeyId"}), TextIn(json, {"SecretAccessKey"}),
                     TextIn(json, {"SessionToken", "Token"})},
                    ParseTime(TextIn(json, {"Expiration"}))};
  if (found.key.id.empty() || found.key.secret.empty()) return std::nullopt;
  return found;
}

std::string Between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t at = text.find(begin);
  if (at == text.npos) return "";
  text.remove_prefix(at + begin.size());
  return std::string(text.substr(0, text.find(end)));
}

Result<ExpiringKey> FromWebIdentity(const RemoteSource& source, const std::string& file,
                                    const std::string& role, std::string session) {
  std::string token = ReadSmallFile(file);
  while (!token.empty() && token.back() == '\n') token.pop_back();
  if (session.empty()) session = "zarrfs";
  std::string host = Environment("AWS_ENDPOINT_URL_STS");
  if (host.empty())
    host = fmt::format("https://sts.{}.{}", source.region, AmazonsDomain(source.region));
  const std::string answer =
      AskServer({.url = host + '/',
                 .form = CanonicalQuery({{"Action", "AssumeRoleWithWebIdentity"},
                                         {"Version", "2011-06-15"},
                                         {"RoleArn", role},
                                         {"RoleSessionName", session},
                                         {"WebIdentityToken", token}}),
                 .seconds = kRemoteSeconds,
                 .through_proxy = true});
  ExpiringKey found{
      {Between(answer, "<AccessKeyId>", "<"), Between(answer, "<SecretAccessKey>", "<"),
       Between(answer, "<SessionToken>", "<")},
      ParseTime(Between(answer, "<Expiration>", "<"))};
  if (!found.key.id.empty() && !found.key.secret.empty()) return found;
  return Fail(ErrorCode::kPermissionDenied,
              "no credentials: {} did not grant the role {} for the token in {}", host, role, file);
}

// Waits at most `limit` for a child to exit, then kills it. Abandons a child that does not exit
// within kKillMs of SIGKILL.
void EndChild(pid_t pid, std::chrono::milliseconds limit) {
  const Descriptor ended = OpenProcess(pid);
  pollfd end = {ended.get(), POLLIN, 0};
  const auto wait = [&](int ms) { return ended && TEMP_FAILURE_RETRY(poll(&end, 1, ms)) > 0; };
  if (!wait(static_cast<int>(limit.count()))) {
    kill(pid, SIGKILL);
    wait(kKillMs);
  }
  waitpid(pid, nullptr, WNOHANG);
}

// Runs a shell command. Returns its output; "" if the command takes longer than kProgramLimit or
// writes more than kMaxText bytes.
std::string OutputOf(const std::string& command) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const Descriptor output(ends[0]);
  Descriptor input(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  // Restores the default action of each signal, because the program would inherit ignored signals.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  const std::array<const char*, 4> words = {"sh", "-c", command.c_str(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes,
                                const_cast<char* const*>(words.data()), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  input.reset();
  if (error != 0) return "";
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + kProgramLimit;
  bool has_ended = false;
  while (!has_ended && text.size() <= kMaxText) {
    const auto left = deadline - std::chrono::steady_clock::now();
    pollfd ready = {output.get(), POLLIN, 0};
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (left_ms <= 0 || poll(&ready, 1, static_cast<int>(left_ms)) <= 0) break;
    std::array<char, 4096> piece;
    const ssize_t count = read(output.get(), piece.data(), piece.size());
    has_ended = count <= 0;
    if (count > 0) text.append(piece.data(), static_cast<size_t>(count));
  }
  EndChild(pid, has_ended ? kProgramEnd : std::chrono::seconds(0));
  return has_ended ? text : "";
}

Result<ExpiringKey> FromProcess(const std::string& command) {
  if (auto key = KeyInJson(OutputOf(command))) return *std::move(key);
  return Fail(ErrorCode::kPermissionDenied,
              "no credentials: the profile's credential_process returned none");
}

std::optional<Result<ExpiringKey>> FromProfile(const RemoteSource& source) {
  AwsProfile profile = ReadAwsProfile(source.options.profile);
  if (profile.empty() && !source.options.profile.empty()) {
    return Fail(ErrorCode::kPermissionDenied, "no credentials: there is no profile {} in ~/.aws",
                source.options.profile);
  }
  if (!profile["aws_access_key_id"].empty()) {
    return ExpiringKey{{profile["aws_access_key_id"], profile["aws_secret_access_key"],
                        profile["aws_session_token"]},
                       std::nullopt};
  }
  if (!profile["web_identity_token_file"].empty()) {
    return FromWebIdentity(source, profile["web_identity_token_file"], profile["role_arn"],
                           profile["role_session_name"]);
  }
  if (!profile["credential_process"].empty()) return FromProcess(profile["credential_process"]);
  if (!profile["role_arn"].empty() || !profile["sso_account_id"].empty()) {
    return Fail(ErrorCode::kPermissionDenied,
                "no credentials: a profile with a role or single sign-on needs "
                "'credential_process = aws configure export-credentials --format process'");
  }
  return std::nullopt;
}

std::optional<ExpiringKey> FromContainer() {
  std::string url = Environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const std::string path = Environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !path.empty()) {
    url = "http://169.254.170.2" + path;
  }
  if (url.empty()) return std::nullopt;
  std::string token = Environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = Environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty()) {
    token = ReadSmallFile(file);
    while (!token.empty() && token.back() == '\n') token.pop_back();
  }
  HttpRequest request{.url = url};
  if (!token.empty()) request.headers.push_back("Authorization: " + token);
  return KeyInJson(AskServer(request));
}

std::optional<ExpiringKey> FromInstance() {
  if (Environment("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  std::string host = Environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (host.empty()) host = "http://169.254.169.254";
  while (host.ends_with('/')) host.pop_back();
  const std::string token = AskServer({.url = host + "/latest/api/token",
                                       .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
                                       .puts = true});
  if (token.empty()) return std::nullopt;
  const std::string roles = host + "/latest/meta-data/iam/security-credentials/";
  const std::vector<std::string> headers = {"X-aws-ec2-metadata-token: " + token};
  const std::string role = AskServer({.url = roles, .headers = headers});
  if (role.empty()) return std::nullopt;
  return KeyInJson(AskServer({.url = roles + role.substr(0, role.find('\n')), .headers = headers}));
}

}  // namespace

Result<ExpiringKey> FindKey(const RemoteSource& source) {
  if (source.options.profile.empty()) {
    AwsKey key{Environment("AWS_ACCESS_KEY_ID"), Environment("AWS_SECRET_ACCESS_KEY"),
               Environment("AWS_SESSION_TOKEN")};
    if (!key.id.empty() && !key.secret.empty()) return ExpiringKey{std::move(key), std::nullopt};
    const std::string file = Environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    const std::string role = Environment("AWS_ROLE_ARN");
    if (!file.empty() && !role.empty()) {
      return FromWebIdentity(source, file, role, Environment("AWS_ROLE_SESSION_NAME"));
    }
  }
  if (auto found = FromProfile(source)) return *std::move(found);
  if (auto found = FromContainer()) return *std::move(found);
  if (auto found = FromInstance()) return *std::move(found);
  return Fail(ErrorCode::kPermissionDenied,
              "no credentials in the environment, in ~/.aws or from this machine; a public bucket "
              "needs the option anonymous");
}

struct Credentials::State {
  Mutex mutex;
  CondVar wake;
  std::optional<Result<ExpiringKey>> found GUARDED_BY(mutex);
  std::chrono::steady_clock::time_point searched GUARDED_BY(mutex);
  bool asked GUARDED_BY(mutex) = true;  // a search was requested
};

Credentials::Credentials(const RemoteSource& source, std::function<void()> on_change)
    : state_(std::make_shared<State>()) {
  std::thread([state = state_, source, on_change = std::move(on_change)] {
    MutexLock lock(state->mutex);
    for (;;) {
      state->asked = false;
      lock.unlock();
      auto found = FindKey(source);
      lock.lock();
      // Keeps the earlier key if the search has failed, because that key may still be valid.
      const bool has_key = state->found && *state->found;
      if (found || !has_key) state->found.emplace(std::move(found));
      state->searched = std::chrono::steady_clock::now();
      on_change();
      const auto is_asked = [&]() REQUIRES(state->mutex) { return state->asked; };
      const auto expires = *state->found ? (*state->found)->expires_s : std::nullopt;
      if (!*state->found || expires) {
        const int64_t left = expires ? *expires - std::time(nullptr) - kEarlyS : 0;
        state->wake.wait_for(
            lock, std::max<std::chrono::seconds>(std::chrono::seconds(left), kMinPause), is_asked);
      } else {
        state->wake.wait(lock, is_asked);
      }
    }
  }).detach();
}

std::optional<Result<AwsKey>> Credentials::Get() const {
  const MutexLock lock(state_->mutex);
  if (!state_->found) return std::nullopt;
  if (!*state_->found) return Fail(*state_->found);
  return (*state_->found)->key;
}

bool Credentials::Refresh(const AwsKey& key) {
  const MutexLock lock(state_->mutex);
  // The rejected key has already been replaced.
  if (state_->found && *state_->found && (*state_->found)->key.secret != key.secret) return true;
  if (std::chrono::steady_clock::now() - state_->searched < kMinPause) return false;
  state_->asked = true;
  state_->wake.notify_all();
  return true;
}

}  // namespace zarrfs
