# frozen_string_literal: true

require "digest"
require "logger"
require "rack/lint"
require "action_controller/railtie"
require_relative "gates"

# One Rails app with what most have: a session, forms, uploads, live streaming, attributes of the current request.
class Application < Rails::Application
  config.load_defaults 7.2
  config.eager_load = false
  config.secret_key_base = "0123456789abcdef" * 8
  config.logger = Logger.new(File::NULL)
  config.consider_all_requests_local = false
  config.hosts.clear
  config.action_controller.default_protect_from_forgery = false # nobody here has a page with a form
  config.session_store :cookie_store, key: "_session"

  routes.append do
    root to: "pages#index"
    %i[me query whoami compute file broken].each { |name| get name.to_s => "pages##{name}" }
    %i[form json login upload release].each { |name| post name.to_s => "pages##{name}" }
    get "stream" => "live#stream"
  end
end

class Current < ActiveSupport::CurrentAttributes
  attribute :who
end

class PagesController < ActionController::Base
  def index = render(plain: "hello")
  def me = render(plain: session[:user])
  def query = render(plain: params[:q])
  def form = render(plain: params[:name])
  def json = render(json: { sum: params[:numbers].sum })
  def file = send_file(ENV.fetch("PLAIT_TEST_FILE"), type: "application/octet-stream")
  def broken = raise("broken on purpose")

  def login
    session[:user] = params[:user]
    redirect_to "/me"
  end

  def upload
    file = params[:file]
    render(plain: "#{file.original_filename} #{Digest::SHA256.hexdigest(file.read)}")
  end

  def release
    Gates.open(params[:key])
    head :no_content
  end

  def whoami
    before = [Current.who, ActiveSupport::IsolatedExecutionState[:who]].compact
    Current.who = ActiveSupport::IsolatedExecutionState[:who] = Thread.current[:who] = params[:id]
    sleep(0.01)
    render(plain: [*before, Current.who, ActiveSupport::IsolatedExecutionState[:who], Thread.current[:who]].join(" "))
  ensure
    ActiveSupport::IsolatedExecutionState.delete(:who)
  end

  # Holds the loop: :hybrid moves it to the thread pool.
  def compute
    Current.who = params[:id]
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.015
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
    render(plain: Current.who)
  end
end

class LiveController < ActionController::Base
  include ActionController::Live

  def stream
    response.headers["content-type"] = "text/plain"
    response.stream.write("begun\n")
    Gates.pass(params[:key])
    response.stream.write("ended\n")
  ensure
    response.stream.close
  end
end

Application.initialize!
use Rack::Lint
run Application
