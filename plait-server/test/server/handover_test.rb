# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/handover"

class ServerHandoverTest < Minitest::Test
  # Elsewhere Ruby knows its program and its arguments.
  def test_a_system_without_proc
    own = [RbConfig.ruby, $PROGRAM_NAME, *ARGV]
    File.stub(:exist?, false) { assert_equal(own, Plait::Server::Handover.new(Dir.pwd).send(:words)) }
  end
end
