#include "zarrcore/net/fetcher_sandbox.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "zarrcore/base/mutex.h"
#include "zarrcore/net/aws_profile.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/secret_files.h"

namespace zarrfs {
namespace {

constexpr auto kLookPeriod = std::chrono::seconds(1);
constexpr auto kMaxWait = std::chrono::milliseconds(200);  // the time limit of LookNow()

// Files that the resolver, OpenSSL and the random number generator read. Only world-readable
// certificates and libraries are listed, because folders with private keys are next to them.
constexpr const char* kOfTheSystem[] = {
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/localtime",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/var/lib/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/share",
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/dev/urandom",
    "/dev/random",
    "/dev/null",
};
// Environment variables that name files which libcurl, OpenSSL or the resolver read.
constexpr const char* kVariables[] = {
    "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE", "OPENSSL_CONF", "HOSTALIASES",
};
constexpr const char* kVariablesOfKeys[] = {
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
};

void Add(std::string path, std::vector<std::string>& paths) {
  if (!path.empty()) paths.push_back(std::move(path));
}

// Returns device and inode of the file at `path`, following links; zeros if it does not exist.
std::pair<dev_t, ino_t> IdentityOf(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// Adds the files with keys that requests to `source` need.
void AddKeys(const RemoteSource& source, const std::string& home, FetcherNeeds& needs) {
  if (!source.is_s3) {
    const bool uses_netrc = !source.url.empty() && !source.is_virtual;
    if (uses_netrc && !home.empty()) Add(home + "/.netrc", needs.readable);
    return;
  }
  if (source.options.anonymous && source.is_region_known && source.is_endpoint_known) return;
  if (!home.empty()) Add(home + "/.aws", needs.readable);
  for (const char* const name : kVariablesOfKeys) Add(Environment(name), needs.readable);
  AwsProfile profile = ReadAwsProfile(source.options.profile);
  Add(profile["web_identity_token_file"], needs.readable);
  needs.starts_programs |= !source.options.anonymous && !profile["credential_process"].empty();
}

// Joins SecretTexts::version of the store and all prefixes; "" if no file of headers= or query= can
// be read again.
std::string VersionOfAll(const RemoteSource& source) {
  std::string version;
  ForEachOrigin(source, [&](const RemoteSource& each) { version += each.secrets.version; });
  return version;
}

}  // namespace

FetcherNeeds NeedsOfFetcher(const RemoteSource& source) {
  const std::string home = HomeFolder();
  if (!home.empty()) setenv("HOME", home.c_str(), /*overwrite=*/0);
  FetcherNeeds needs;
  needs.readable.assign(std::begin(kOfTheSystem), std::end(kOfTheSystem));
  for (const char* const name : kVariables) Add(Environment(name), needs.readable);
  const auto* const curl = curl_version_info(CURLVERSION_NOW);
  if (curl->cainfo != nullptr) Add(curl->cainfo, needs.readable);
  if (curl->capath != nullptr) Add(curl->capath, needs.readable);
  ForEachOrigin(source, [&](const RemoteSource& each) { AddKeys(each, home, needs); });
  return needs;
}

void LoadLibrariesOfFetcher() {
  curl_global_init(CURL_GLOBAL_DEFAULT);
#ifdef ZARRFS_NSS  // without ZARRFS_NSS, libcurl resolves names itself
  std::istringstream lines(ReadSmallFile("/etc/nsswitch.conf"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "hosts:") continue;
    while (words >> word) {
      if (word.front() == '#') break;
      // The library stays open, so the C library later finds it loaded.
      if (word.front() != '[') dlopen(("libnss_" + word + ".so.2").c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
#endif
}

struct ReplacementWatch::State {
  std::vector<std::string> paths;
  std::vector<std::pair<dev_t, ino_t>> known;
  std::vector<RemoteOptions> options;  // the options of the store and of each prefix
  std::string version;                 // VersionOfAll(); "" if no secrets can change
  Mutex mutex;
  CondVar changed;
  uint64_t asked GUARDED_BY(mutex) = 0;  // the number of calls of LookNow()
  uint64_t done GUARDED_BY(mutex) = 0;

  void Look() const {
    for (size_t n = 0; n < paths.size(); ++n) {
      const auto now = IdentityOf(paths[n]);
      if (now != known[n] && now.second != 0) _exit(kExitReplaced);
    }
    if (version.empty()) return;
    std::string now;
    for (const RemoteOptions& each : options) now += VersionOfSecrets(each);
    if (!now.empty() && now != version) _exit(kExitReplaced);
  }
};

ReplacementWatch::ReplacementWatch(std::vector<std::string> paths, const RemoteSource& source)
    : state_(std::make_shared<State>()) {
  for (const std::string& path : paths) state_->known.push_back(IdentityOf(path));
  state_->paths = std::move(paths);
  ForEachOrigin(source,
                [this](const RemoteSource& each) { state_->options.push_back(each.options); });
  state_->version = VersionOfAll(source);
  // Checks the files on a separate thread, because a hung file server must not block any other
  // thread.
  std::thread([state = state_] {
    for (;;) {
      uint64_t asked = 0;
      {
        MutexLock lock(state->mutex);
        state->changed.wait_for(
            lock, kLookPeriod, [&]() REQUIRES(state->mutex) { return state->asked > state->done; });
        asked = state->asked;
      }
      state->Look();
      const MutexLock lock(state->mutex);
      state->done = asked;
      state->changed.notify_all();
    }
  }).detach();
}

void ReplacementWatch::LookNow() const {
  if (state_->version.empty()) return;
  MutexLock lock(state_->mutex);
  const uint64_t own = ++state_->asked;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kMaxWait,
                           [&]() REQUIRES(state_->mutex) { return state_->done >= own; });
}

}  // namespace zarrfs
