# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "plait/server"
require "plait/server/generation"

class ServerIsolationTest < Minitest::Test
  include Support::CommandLine

  RAILS = <<~RUBY
    module Rails
      def self.application = self
    end

    module ActiveSupport
      module IsolatedExecutionState
        class << self
          attr_accessor :isolation_level
        end
        self.isolation_level = ENV.fetch("LEVEL", "thread").to_sym
      end
    end

    run ->(_) { [200, {}, [ActiveSupport::IsolatedExecutionState.isolation_level.to_s]] }
  RUBY
  TOLD = /^plait: Rails keeps the state of a request .* by fiber, and not by thread, since it runs on hybrid/

  # Else a user of one request would be that of another one.
  def test_rails_keeps_its_state_by_fiber_where_requests_are_fibers
    write("config.ru", RAILS)
    %w[0 1].each { |workers| assert_equal(["fiber", 1], served("--workers", workers)) }
  end

  def test_nothing_is_said_where_it_does_so_already_or_need_not
    write("config.ru", RAILS)

    assert_equal(["thread", 0], served("--workers", "0", "--on", "threads"))
    assert_equal(["fiber", 0], served("--workers", "0", env: { "LEVEL" => "fiber" }))
  end

  def test_a_rails_that_is_too_old_for_that_is_refused
    write("config.ru", "module Rails; def self.application = self; end\nrun ->(_) { [200, {}, []] }\n")
    result = plait("serve", "--workers", "0", "--bind", "tcp://127.0.0.1:0")

    assert_match(/\Aplait: this Rails keeps .* on: :hybrid .* take Rails 7.0 or newer, or run it on: :threads$/, result.err)
    assert_equal(2, result.code)
  end

  def test_apps_without_rails
    Plait::Server::Isolation.settle(:fibers) { |line| flunk(line) }
  end

  private

  # @return [Array(String, Integer)] what it answers, and how often it has told of what was changed
  def served(*arguments, **options)
    body = nil
    result = plait_running("serve", *arguments, "--bind", "tcp://127.0.0.1:0", **options) do |pid, _, err|
      wait_until(timeout: 30) { File.read(err) =~ /serves .* at (http\S+)/ }
      body = Plait::HTTP.get(File.read(err)[/http\S+/]).body
      Process.kill(:TERM, pid)
    end
    [body, result.err.scan(TOLD).size]
  end
end
