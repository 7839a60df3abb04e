# frozen_string_literal: true

require "digest"
require "json"
require "rack/lint"
require "rack/session"
require "roda"
require_relative "gates"

# One Roda app with what most have: a session, forms, uploads, streaming.
class Application < Roda
  plugin :sessions, secret: "0123456789abcdef" * 8
  plugin :streaming
  plugin :sinatra_helpers
  plugin :json_parser
  plugin :error_handler do |_error|
    response.status = 500
    "sorry"
  end

  route do |r| # rubocop:disable Metrics/BlockLength -- a table
    response["content-type"] = "text/plain"
    r.root { "hello" }
    r.get("me") { session["user"] }
    r.get("query") { r.params["q"] }
    r.get("file") { send_file(ENV.fetch("PLAIT_TEST_FILE"), type: "application/octet-stream") }
    r.get("broken") { raise "broken on purpose" }
    r.post("form") { r.params["name"] }
    r.post("json") { { sum: r.POST.fetch("numbers").sum }.to_json }

    r.post "login" do
      session["user"] = r.params["user"]
      r.redirect "/me"
    end

    r.post "upload" do
      file = r.params["file"]
      "#{file[:filename]} #{Digest::SHA256.hexdigest(file[:tempfile].read)}"
    end

    r.post "release" do
      Gates.open(r.params["key"])
      response.status = 204
      ""
    end

    r.get "stream" do
      stream do |out|
        out << "begun\n"
        Gates.pass(r.params["key"])
        out << "ended\n"
      end
    end

    r.get "whoami" do
      Thread.current[:who] = r.params["id"]
      sleep(0.01)
      "#{Thread.current[:who]} #{r.params["id"]} #{env["QUERY_STRING"][/\d+/]}"
    end

    # Holds the loop: :hybrid moves it to the thread pool.
    r.get "compute" do
      finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.015
      nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
      r.params["id"]
    end
  end
end

use Rack::Lint
run Application.freeze.app
