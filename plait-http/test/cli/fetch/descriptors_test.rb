# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/settings"

class FetchDescriptorsTest < Minitest::Test
  Descriptors = Plait::CLI::Fetch::Descriptors

  # What Process is asked.
  System = Struct.new(:soft, :hard) do
    def getrlimit(_) = [soft, hard]

    def setrlimit(_, soft, _hard) = self.soft = soft
  end

  def test_enough
    assert_equal 1024, provided(64, 1024, 4096)
  end

  def test_raised_as_far_as_needed
    assert_equal 2064, provided(1000, 1024, 4096)
  end

  def test_too_few
    error = assert_raises(Plait::UsageError) { provided(3000, 1024, 4096) }
    assert_match(/--limit 3000 needs 6064 open files, and this system allows 4096: lower it to 2016,/, error.message)
    assert_equal 4096, provided(2016, 1024, 4096)
  end

  def test_a_system_that_knows_no_limits
    assert_nil Descriptors.provide(9000, system: Class.new { def getrlimit(_) = raise(NotImplementedError) }.new)
  end

  private

  def provided(limit, soft, hard)
    system = System.new(soft, hard)
    Descriptors.provide(limit, system: system)
    system.soft
  end
end
