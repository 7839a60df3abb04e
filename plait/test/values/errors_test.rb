# frozen_string_literal: true

require "test_helper"
require "plait/values/errors"

class SystemReasonTest < Minitest::Test
  REASON = Plait.const_get(:SystemReason)

  def test_says_what_the_system_says_and_nothing_besides
    assert_equal("No such file or directory", REASON.of(assert_raises(Errno::ENOENT) { File.read("/no such/file - a @ b") }))
    assert_equal("Permission denied", REASON.of(Errno::EACCES.new("something")))
    assert_equal("No such file or directory", REASON.of(assert_raises(Errno::ENOENT) { Dir.chdir("/no such") }))
  end
end
