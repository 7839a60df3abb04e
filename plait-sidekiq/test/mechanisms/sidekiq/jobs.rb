# frozen_string_literal: true

require "plait"
require "sidekiq"

# Jobs that the tests of `on: :sidekiq` run, here and in processes of Sidekiq.
module Jobs
  # Raises when it is loaded, in processes of Sidekiq.
  autoload :Broken, File.expand_path("broken.rb", __dir__)

  class Refused < StandardError
    def initialize(message, _code) = super(message)
  end

  # A class whose instances do it.
  class Double
    def call(number) = number * 2
  end

  # Fails always.
  class Fails
    def call(_item) = raise(ArgumentError, "no good")
  end

  class Sleeps
    def call(seconds) = sleep(seconds)
  end

  # A module that does it itself.
  module Echo
    def self.call(item) = item
  end

  class Pid
    def call(_item) = Process.pid
  end

  # Fails in as many ways as one can.
  class Fail
    # Ruby can't convert from UTF-7.
    MESSAGES = { "bytes" => "d\u00e9j\u00e0 \xFF".b, "odd" => (+"in UTF-7").force_encoding("UTF-7") }.freeze

    def call(way)
      case way
      when "raise" then raise(ArgumentError, "no good")
      when "own" then raise(Refused.new("refused", 7))
      when "cause" then caused
      when "exit" then exit(3)
      when "symbol" then :symbol
      when "binary" then "\xFF".b
      when "bytes", "odd" then raise(MESSAGES.fetch(way))
      when "exit thread" then Thread.exit
      else way
      end
    end

    private

    def caused
      raise("inner")
    rescue StandardError
      raise(KeyError, "outer")
    end
  end

  # Tells in a file that it has begun, and then waits for another file.
  class Wait
    def call(folder)
      return folder if folder == "at once"
      raise(ArgumentError, "no good") if folder == "fail"

      wait(folder)
    end

    private

    def wait(folder)
      File.write(File.join(folder, "begun-#{Process.pid}-#{rand}"), "")
      sleep(0.02) until File.exist?(File.join(folder, "go"))
      "gone on"
    ensure
      File.write(File.join(folder, "ended-#{Process.pid}-#{rand}"), "")
    end
  end

  # Has others run.
  class Outer
    def call(queue) = Plait.map([1, 2], on: :sidekiq, &Plait.job(Double, queue: queue))
  end

  # Fails until it was called as often as it is told.
  class Flaky
    def call(item)
      folder, times = item
      File.write(File.join(folder, rand.to_s), "")
      Dir.children(folder).size >= times ? "at last" : raise(IOError, "not yet")
    end
  end
end
