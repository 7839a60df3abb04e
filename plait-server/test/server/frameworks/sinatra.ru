# frozen_string_literal: true

require "digest"
require "json"
require "rack/lint"
require "sinatra/base"
require_relative "gates"

# One Sinatra app with what most have: a session, forms, uploads, streaming.
class Application < Sinatra::Base
  set :environment, :production
  set :sessions, secret: "0123456789abcdef" * 8
  set :logging, false
  set :dump_errors, false
  set :host_authorization, permitted_hosts: []
  before { content_type :text }

  get("/") { "hello" }
  get("/me") { session[:user].to_s }
  get("/query") { params[:q] }
  get("/file") { send_file(ENV.fetch("PLAIT_TEST_FILE"), type: "application/octet-stream") }
  get("/broken") { raise "broken on purpose" }
  post("/form") { params[:name] }
  post("/json") { { sum: JSON.parse(request.body.read).fetch("numbers").sum }.to_json }

  post "/login" do
    session[:user] = params[:user]
    redirect "/me"
  end

  post "/upload" do
    file = params[:file]
    "#{file[:filename]} #{Digest::SHA256.hexdigest(file[:tempfile].read)}"
  end

  post "/release" do
    Gates.open(params[:key])
    204
  end

  get "/stream" do
    stream do |out|
      out << "begun\n"
      Gates.pass(params[:key])
      out << "ended\n"
    end
  end

  get "/whoami" do
    Thread.current[:who] = params[:id]
    sleep(0.01)
    "#{Thread.current[:who]} #{params[:id]} #{@env["QUERY_STRING"][/\d+/]}"
  end

  # Holds the loop: :hybrid moves it to the thread pool.
  get "/compute" do
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.015
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
    params[:id]
  end
end

use Rack::Lint
run Application
