# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../cli/support/command_line"
require "plait/server"
require "plait/server/isolation"

class ServerIsolationTest < Minitest::Test
  include Support::CommandLine

  RAILS = <<~RUBY
    module Rails
      def self.application = self
    end

    module ActiveSupport
      module IsolatedExecutionState
        def self.isolation_level = ENV.fetch("LEVEL", "thread").to_sym
      end
    end

    run ->(_) { [200, {}, []] }
  RUBY

  # A user of one request would be that of another one.
  def test_a_rails_that_keeps_its_state_by_thread_is_served_on_threads_only
    write("config.ru", RAILS)
    %w[0 1].each do |workers|
      result = plait("serve", "--workers", workers, "--bind", "tcp://127.0.0.1:0")
      assert_match(/\Aplait: Rails keeps the state .* on: :hybrid .* Say config\.active_support\.isolation_level = /, result.err)
      assert_equal([2, 1], [result.code, result.err.lines.size])
    end
    assert_served("--on", "threads")
    assert_served("--on", "fibers", env: { "LEVEL" => "fiber" })
  end

  def test_apps_without_rails
    assert_nil(Plait::Server::Isolation.check(:fibers))
  end

  private

  def assert_served(*arguments, **options)
    result = plait_running("serve", *arguments, "--workers", "0", "--bind", "tcp://127.0.0.1:0", **options) do |pid, _, err|
      wait_until(timeout: 30) { !File.empty?(err) }
      Process.kill(:TERM, pid)
    end
    assert_match(/ serves config\.ru /, result.err)
  end
end
