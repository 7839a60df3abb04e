# frozen_string_literal: true

module Plait
  module CLI
    class Doctor < Command
      # One thing the doctor looked at.
      #
      # `status` is `:ok`; `:limited`, when it works and holds something back; `:missing`, when it isn't there;
      # `:unknown`, when this system doesn't tell. `value` is for programs, `text` for people, `hint` what to do about
      # it, as a command where there is one.
      Check = Struct.new(:group, :name, :status, :value, :text, :hint, keyword_init: true)

      # Looks at one part of the machine. A subclass names its group and makes checks; the files of Linux are read below
      # `root`, and where they are missing the answer is "unknown".
      class Examiner
        UNTOLD = "unknown: this system doesn't tell"

        # @param root [String] of the file system
        def initialize(root: "/")
          @root = root
        end

        def checks = raise(NotImplementedError, "#{self.class}#checks")

        private

        def ok(name, value, text, hint = nil) = check(name, :ok, value, text, hint)

        def limited(name, value, text, hint = nil) = check(name, :limited, value, text, hint)

        # Says the hint only of a number that is too small.
        def judge(name, value, needed, text, hint) = value >= needed ? ok(name, value, text) : limited(name, value, text, hint)

        def missing(name, text, hint = nil) = check(name, :missing, nil, text, hint)

        def unknown(name, text = UNTOLD) = check(name, :unknown, nil, text, nil)

        def check(name, status, value, text, hint)
          Check.new(group: self.class::GROUP, name: name, status: status, value: value, text: text, hint: hint)
        end

        def read(file)
          File.read(path(file))
        rescue SystemCallError
          nil
        end

        def path(file) = File.join(@root, file)

        # @param key [String] of sysctl
        def numbers(key) = read("proc/sys/#{key.tr(".", "/")}")&.split&.map(&:to_i)

        def number(key) = numbers(key)&.first

        # @return [Integer, nil] bytes
        def meminfo(name) = read("proc/meminfo").to_s[/^#{name}:\s+(\d+) kB/, 1]&.then { |kilobytes| kilobytes.to_i * 1024 }
      end
    end
  end
end
