# frozen_string_literal: true

# How processes that an app has forked end.
module ForkEnds
  # @return [String] what this process and those that it forks complain of meanwhile
  def errors_of_all
    before = $stderr
    reader, writer = IO.pipe
    $stderr = writer
    yield
    writer.close
    reader.read_nonblock(10_000)
  ensure
    $stderr = before
  end

  # @return [Integer, nil]
  def exit_status(pid)
    wait_until { Process.wait(pid, Process::WNOHANG) }
    $?.exitstatus # rubocop:disable Style/SpecialGlobalVars -- of this thread
  end
end
