# frozen_string_literal: true

require "rbconfig"
require_relative "root"
require_relative "server"

module Support
  # A MongoDB: the one that PLAIT_MONGO_URL names, else the stand-in (mongo_server/) in a process of its own.
  class MongoServer < Server
    # @return [String] of a database to be filled
    def self.url = ENV.fetch("PLAIT_MONGO_URL") { shared.url }

    # @return [Boolean]
    def self.real? = ENV.key?("PLAIT_MONGO_URL")

    def url = "mongodb://#{host}:#{port}/plait_test"

    private

    def command
      [RbConfig.ruby, *FLAGS, "-e", <<~RUBY]
        require "#{File.join(__dir__, "mongo_server/stand_in")}"
        Support::MongoStandIn.new(port: #{port}).run
      RUBY
    end

    def ready? = listening?
  end
end
