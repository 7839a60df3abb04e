# frozen_string_literal: true

require "rbconfig"
require_relative "root"
require_relative "server"

module Support
  # A process of Sidekiq that takes jobs from a Redis.
  class SidekiqProcess < Server
    # @param redis [RedisServer]
    # @param jobs [String] the file with the classes that do the work
    # @param options [Hash] queue:, concurrency:, grace: (seconds that jobs have when it ends; with 2 and less it may lose some:
    #   its idle threads wait for as long at their queue, and one that is ended then may just have taken a job)
    def initialize(redis, jobs, queue: "default", concurrency: 4, grace: 4, **options)
      super(**options)
      @redis = redis
      @jobs = jobs
      @settings = ["-q", queue, "-c", concurrency.to_s, "-t", grace.to_s]
    end

    # As Sidekiq sees it when it has given no sign of life for a minute: of a stopped process.
    def forget = redis("DEL", identities.find { |name| name.split(":")[-2] == pid.to_s })

    # @return [Object] what its Redis answers
    def redis(*words)
      client = ::RedisClient.new(url: @redis.url)
      client.call(*words)
    ensure
      client&.close
    end

    private

    def command
      [RbConfig.ruby, *FLAGS, Gem.bin_path("sidekiq", "sidekiq"), "-r", @jobs, *@settings]
    end

    def environment = { "REDIS_URL" => @redis.url }

    def ready? = identities.any? { |name| name.split(":")[-2] == pid.to_s }

    def identities = redis("SMEMBERS", "processes")
  end
end
