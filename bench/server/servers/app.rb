# frozen_string_literal: true

LARGE = ("Hello, world! " * 75_000).freeze

# A body that is no Array.
class Pieces
  def initialize(text)
    @text = text
  end

  def each = yield(@text)
end

# The apps that are served, by name.
APPS = {
  "hello" => ->(_env) { [200, { "content-type" => "text/plain" }, ["Hello, world!"]] },
  "pieces" => ->(_env) { [200, { "content-type" => "text/plain" }, Pieces.new("Hello, world!")] },
  "waiting" => lambda do |_env|
    sleep(0.003)
    [200, { "content-type" => "text/plain" }, ["Hello, world!"]]
  end,
  # As long as it takes: the processor's time, not the clock's.
  "computing" => lambda do |_env|
    finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.001
    nil until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > finish
    [200, { "content-type" => "text/plain" }, ["Hello, world!"]]
  end,
  "large" => ->(_env) { [200, { "content-type" => "text/plain" }, [LARGE]] },
  "rails" => (require_relative("rails_app") && RailsApp if ARGV.first == "rails")
}.freeze
