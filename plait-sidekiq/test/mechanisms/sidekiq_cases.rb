# frozen_string_literal: true

require "tmpdir"
require "support/fresh_ruby"
require "support/redis_server"
require "support/sidekiq_process"
require "plait/mechanisms/sidekiq"

begin
  require "sidekiq"
  require_relative "sidekiq/jobs"
rescue LoadError
  nil # the tests say so
end

# What tests with real processes of Sidekiq have in common.
module SidekiqCases
  JOBS = File.expand_path("sidekiq/jobs.rb", __dir__)

  private

  def need_sidekiq
    skip("the gem sidekiq is not installed: bin/setup test drivers") unless defined?(::Sidekiq)
  end
end
