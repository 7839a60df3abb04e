# frozen_string_literal: true

require "tmpdir"
require_relative "../support/fresh_ruby"
require_relative "../support/redis_server"
require_relative "../support/sidekiq_process"

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
