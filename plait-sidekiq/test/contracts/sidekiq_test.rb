# frozen_string_literal: true

require "test_helper"
require_relative "../../../plait/test/contracts/job_contract"
require_relative "../mechanisms/sidekiq_cases"

module Contracts
  class SidekiqTest < Minitest::Test
    include SidekiqCases
    include JobContract

    # Kept for all tests of the file: a process takes a second to come up.
    def self.worker
      @worker ||= begin
        @redis = redis = Support::RedisServer.start
        ::Sidekiq.configure_client { |config| config.redis = { url: redis.url } }
        ::Sidekiq.default_configuration.logger.level = Logger::WARN
        Support::SidekiqProcess.start(redis, SidekiqCases::JOBS)
      end
    end

    def setup
      need_sidekiq
      self.class.worker
    end

    def on = :sidekiq

    def jobs = Jobs
  end
end
