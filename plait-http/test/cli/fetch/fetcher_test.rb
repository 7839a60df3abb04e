# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/fetcher"
require "plait/cli/fetch/job"

class FetchFetcherTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  Settings = Struct.new(:timeout, :limit, :crawl)

  # The slower it is made, the more would make one.
  class Slow < Fetch::Fetcher
    attr_reader :made

    private

    def build
      (@made ||= Queue.new) << true
      sleep(0.05)
      super
    end
  end

  def test_threads_share_a_client
    fetcher = Slow.new(Settings.new(5.0, 8, false))
    threads = Array.new(8) { Thread.new { fetcher.call(job("http://127.0.0.1:1/")) } }
    assert_equal ["connect"], threads.map { |thread| thread.value.kind }.uniq
    assert_equal 1, fetcher.made.size
  end

  private

  def job(url) = Fetch::Job.new(line: 1, url: url, host: "127.0.0.1", origin: url.chomp("/"), depth: 0, attempts: 1)
end
