# frozen_string_literal: true

require "fileutils"
require_relative "chroot"

module Support
  class Matrix
    # A system that debootstrap makes in tmp/matrix/systems, for its Rubies; kept for next time. Several may share one.
    class Debian < Chroot
      class Failed < StandardError; end

      Source = Struct.new(:name, :suite, :program, :package, :from)
      SOURCES = [
        Source.new("ruby 3.3 (Debian trixie)", "trixie", "ruby", "ruby ruby-dev", "trixie"),
        Source.new("ruby 3.4 (Debian experimental)", "sid", "ruby3.4", "ruby3.4 ruby3.4-dev", "experimental"),
        Source.new("jruby 10 (Debian sid)", "sid", "jruby", "jruby", "sid")
      ].freeze
      # What bin/setup needs; bin/test installs the servers.
      TOOLS = "bundler build-essential git libyaml-dev libssl-dev netbase procps iproute2"
      MAKE = <<~SH
        set -e
        export DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        if [ ! -e "$1" ]; then
          rm -rf "$1.new"
          debootstrap --variant=minbase --include=ca-certificates "$2" "$1.new" "$3"
          test "$2" != sid || echo "deb $3 experimental main" > "$1.new/etc/apt/sources.list.d/experimental.list"
          mv "$1.new" "$1"
        fi
        echo 'Acquire::Check-Valid-Until "false";' > "$1/etc/apt/apt.conf.d/a-mirror-may-lag"
        cp -L /etc/hosts /etc/resolv.conf "$1/etc/"
        mount -t proc proc "$1/proc"
        chroot "$1" apt-get update
        chroot "$1" apt-get install -y --no-install-recommends -t "$4" $5
        chroot "$1" apt-get install -y --no-install-recommends $6
      SH

      attr_reader :name

      # @param systems [String] folder
      # @return [Array<Debian>] those that are there, or can be made
      def self.all(systems)
        SOURCES.map { |source| new(systems, source) }.select { |one| Process.uid.zero? && (one.made? || may_make?) }
      end

      def self.may_make? = ENV["PLAIT_INSTALL"] != "0" && Setup.program?("debootstrap")

      # The mirror of Debian that this machine's apt uses.
      def self.mirror
        sites = IO.popen(["apt-get", "indextargets", "--format", "$(SITE)", { err: File::NULL }], &:readlines)
        sites.map(&:chomp).find { |site| site.match?(%r{/debian/?\z}) } || "http://deb.debian.org/debian"
      end

      def initialize(systems, source)
        super(File.join(systems, source.suite), source.program)
        @name = source.name
        @source = source
      end

      def here? = false

      def made? = File.exist?(stamp)

      # @raise [Failed]
      def prepare
        return if made?

        Setup.say("making a system for #{name} in tmp/matrix/systems …")
        FileUtils.mkdir_p(File.dirname(@system))
        output = IO.popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", MAKE, "sh", @system, *arguments,
                           { in: File::NULL, err: %i[child out] }], &:read)
        Process.last_status.success? or raise Failed, "its system can't be made: #{output.lines.last.to_s.strip}"
        File.write(stamp, "")
      end

      private

      def arguments = [@source.suite, Debian.mirror, @source.from, @source.package, TOOLS]

      def stamp = "#{@system}.#{@program}"

      # What bin/test installs there stays.
      def layered? = false
    end
  end
end
