# frozen_string_literal: true

require "rbconfig"
require_relative "root"
require_relative "server"

module Support
  # A MongoDB: the one that PLAIT_MONGO_URL names, else Plait's own small server in a process of its own.
  class MongoServer < Server
    # @return [String] of a database to be filled
    def self.url = ENV.fetch("PLAIT_MONGO_URL") { shared.url }

    # @return [Boolean]
    def self.real? = ENV.key?("PLAIT_MONGO_URL")

    def url = "mongodb://#{host}:#{port}/plait_test"

    private

    def command
      [RbConfig.ruby, *FLAGS, "-e", <<~RUBY]
        require "plait/suites/databases/mongo_server"
        Plait::Suites::MongoServer.new(port: #{port}).run
      RUBY
    end

    def ready? = listening?
  end
end
