// SPDX-License-Identifier: Apache-2.0
#include "integration/hostile/call.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "lib/transport/server.h"
#include "tests/join/hostile_bodies.h"

namespace rocksieve::join {
namespace {

std::atomic<int> greeted_calls = 0;

constexpr size_t kMostHeard = 1000;  // older ones are forgotten

// Each call has a connection of its own.
std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text.substr(0, 300);
}

}  // namespace

v1::Start Greeting() {
  v1::Start start;
  start.set_version(kTransportVersion);
  return start;
}

Call::Call(const std::string& address, double seconds, bool reads)
    : stub_(v1::Join::NewStub(Connect(address))), reads_(reads) {
  context_.set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds)));
  stream_ = stub_->Session(&context_);
}

Call::~Call() {
  context_.TryCancel();
  if (reader_.joinable()) reader_.join();
  if (!finished_) stream_->Finish();
}

int Call::greeted() { return greeted_calls; }

bool Call::Send(const v1::Frame& frame) {
  bytes_sent_ += frame.ByteSizeLong();
  return stream_->Write(frame);
}

bool Call::Greet(const v1::Start& start) {
  v1::Frame frame;
  *frame.mutable_start() = start;
  const bool greeted = Send(frame) && stream_->Read(&frame) && frame.has_started();
  greeted_calls += greeted;
  if (greeted && reads_) {
    reader_ = std::thread([this] { ReadAll(); });
  } else {
    ended_ = true;
  }
  return greeted;
}

void Call::ReadAll() {
  std::string arrived;
  v1::Frame frame;
  while (stream_->Read(&frame)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_heard_ += frame.ByteSizeLong();
    arrived += frame.piece();
    TakeMessages(&arrived, [this](std::string_view bytes) {
      absl::StatusOr<Message> message = Decode(bytes);
      if (!message.ok()) return;
      const auto* failure = std::get_if<Failure>(&*message);
      if (failure != nullptr) failure_ = failure->status;
      heard_.push_back(*std::move(message));
      if (heard_.size() > kMostHeard) heard_.pop_front();
    });
    changed_.notify_all();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool Call::SendPiece(std::string piece) {
  v1::Frame frame;
  frame.set_piece(std::move(piece));
  return Send(frame);
}

bool Call::Flush() {
  bool sent = true;
  while (sent && writer_.pending_bytes() > 0) sent = SendPiece(writer_.TakePiece());
  return sent;
}

std::optional<Message> Call::Hear() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !heard_.empty(); });
  if (heard_.empty()) return std::nullopt;
  Message message = std::move(heard_.front());
  heard_.pop_front();
  return message;
}

void Call::End() {
  Flush();
  if (reads_) {
    // What failed is over once both sides have closed.
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || failure_; });
    lock.unlock();
    stream_->WritesDone();
  } else {
    std::this_thread::sleep_until(context_.deadline());
    context_.TryCancel();
  }
  if (reader_.joinable()) reader_.join();
  const grpc::Status status = stream_->Finish();
  finished_ = true;
  std::cout << bytes_sent_ << " bytes sent, " << bytes_heard_ << " heard, ended with code "
            << status.error_code() << ": " << OneLine(status.error_message())
            << (failure_ ? " (said: " + OneLine(failure_->ToString()) + ")" : "") << std::endl;
}

}  // namespace rocksieve::join
