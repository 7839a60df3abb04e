# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "plait/cli/serve/subject"
require "support/program"

class ServeListingTest < Minitest::Test
  LISTING = Plait::CLI::Serve.const_get(:Listing)
  LINES = ["    1     0  2048 1-00:00:01\n", "   20     1  4096 00:00:03\n", "   21    20   100 1:02.50\n",
           "   30     1  8192 00:09\n"].freeze

  def test_a_process_with_its_descendants
    listing = IO.stub(:popen, ->(*) { LINES }) { LISTING.new(20) }
    assert_equal([[20, 21], 4196 * 1024, 65.5], [listing.pids, listing.memory, listing.processor_time])
    assert_in_delta(86_401 + 65.5 + 9, IO.stub(:popen, ->(*) { LINES }) { LISTING.new(1) }.processor_time)
  end

  def test_this_process
    skip("there is no ps") unless system("ps", out: File::NULL)
    assert_operator(LISTING.new(Process.pid).memory, :>, 1_000_000)
  end
end
