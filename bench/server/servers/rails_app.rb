# frozen_string_literal: true

require "logger"
require "action_controller/railtie"

# The smallest Rails app that is one: routes, a controller, and the middleware that Rails puts there for production.
class RailsApp < Rails::Application
  config.load_defaults 7.1
  config.eager_load = true
  config.secret_key_base = "0123456789abcdef" * 8
  config.logger = Logger.new(File::NULL)
  config.log_level = :fatal
  config.hosts.clear
  config.active_support.isolation_level = :fiber
  routes.append { root to: "hello#index" }
end

class HelloController < ActionController::Base # rubocop:disable Style/OneClassPerFile -- it is one app
  def index = render(plain: "Hello, world!")
end

RailsApp.initialize!
