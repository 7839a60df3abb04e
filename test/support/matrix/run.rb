# frozen_string_literal: true

module Support
  class Matrix
    # What became of one Ruby. Without counts its run had no end: `remark` says why.
    Row = Struct.new(:name, :passed, :failed, :skipped, :seconds, :reasons, :files, :remark, :cut, keyword_init: true) do
      def initialize(name, **values) = super(name: name, reasons: [], files: [], **values)

      def ok? = remark.nil? && failed == 0

      # @return [Boolean] whether nothing had failed when its time was over
      def cut? = cut && !failed.to_i.positive?
    end

    # One run of bin/test: shows what it prints, and reads its last lines. A Ruby that hangs is cut off.
    class Run
      # Seconds for one Ruby, and then until it has ended its test files.
      LIMIT = Integer(ENV.fetch("PLAIT_MATRIX_TIMEOUT", "7200"))
      GRACE = 30
      TOTALS = /\A(\d+) passed, (\d+) failed, (\d+) skipped\Z/

      def initialize(name, out, limit: LIMIT)
        @name = name
        @out = out
        @limit = limit
        @lines = []
      end

      # @param command as Process.spawn takes it
      # @return [Row]
      def call(*command, **options)
        reader, writer = IO.pipe
        started = now
        pid = Process.spawn(*command, **options, in: File::NULL, %i[out err] => writer, pgroup: true)
        writer.close
        status = supervise(pid, Thread.new { read(reader) })
        row((now - started).round, status)
      end

      private

      # Forwards Ctrl-C, too: bin/test then ends its test files.
      def supervise(pid, reading)
        waiter = Process.detach(pid)
        @cut = !waiter.join(@limit)
        stop(pid, waiter)
        reading.join(GRACE)
        waiter.value
      ensure
        stop(pid, waiter)
      end

      def stop(pid, waiter)
        %i[INT KILL].each { |signal| waiter.join(0) || (Process.kill(signal, -pid) && waiter.join(GRACE)) }
      rescue Errno::ESRCH
        nil
      end

      def read(reader)
        reader.each_line do |line|
          @lines << line.scrub.chomp
          @out.puts(@lines.last)
          @out.flush
        end
      end

      def row(seconds, status)
        totals = TOTALS.match(@lines.last.to_s)
        passed, failed, skipped = totals&.captures&.map(&:to_i)
        Row.new(@name, passed: passed, failed: failed, skipped: skipped, seconds: seconds, cut: @cut,
                       remark: remark(totals, status), reasons: section("skipped:"), files: section("failed:"))
      end

      def remark(totals, status)
        return "cut off after #{@limit} s" if @cut
        return if totals

        "no end: #{status.inspect[/(SIG|exit).*(?=>)/]}#{", after #{@lines.last.inspect}" if @lines.any?}"
      end

      # @return [Array<String>] the indented lines below the last such title
      def section(title)
        from = @lines.rindex(title) or return []
        @lines.drop(from + 1).take_while { |line| line.start_with?("  ") }.map(&:strip)
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
