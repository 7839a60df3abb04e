# frozen_string_literal: true

require "tmpdir"
require_relative "run"
require_relative "workspace"

module Support
  class Matrix
    # The Ruby of another system in a folder. It sees that system under a layer of its own, so that nothing in the
    # folder is changed, and the copy of the project at /mnt; the mounts are gone with the process. It resolves and
    # trusts what this machine does.
    class Chroot
      ENTER = <<~SH
        set -e
        program="$4"
        if [ "$5" = layered ]; then
          mount -t tmpfs tmpfs "$2"
          mkdir "$2/upper" "$2/work" "$2/root"
          mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
        else
          mkdir "$2/root"
          mount --bind "$1" "$2/root"
        fi
        cp -L /etc/hosts /etc/resolv.conf "$2/root/etc/"
        mkdir -p "$2/root/etc/ssl/certs"
        cp -L /etc/ssl/certs/ca-certificates.crt "$2/root/etc/ssl/certs/" || true
        mount -t proc proc "$2/root/proc"
        mount --rbind /dev "$2/root/dev"
        mount --bind "$3" "$2/root/mnt"
        root="$2/root"
        shift 5
        exec chroot "$root" /usr/bin/env sh -c 'program=$1; shift; cd /mnt && exec $program bin/test "$@"' sh "$program" "$@"
      SH

      # @return [Array<Chroot>]
      def self.all = ENV["PLAIT_CHROOT"] ? [new(ENV["PLAIT_CHROOT"])] : []

      def initialize(system, program = "ruby")
        @system = system
        @program = program
      end

      def name
        @name ||= begin
          version = IO.popen(["chroot", @system, @program, "-e", "print RUBY_VERSION", { err: File::NULL }], &:read)
          version.empty? ? "chroot" : "ruby #{version} (chroot)"
        end
      end

      # It need not be made first.
      def here? = true

      def prepare = nil

      # @param run [Run]
      # @return [Row]
      def test(folder, arguments, run)
        return Row.new(name, remark: "PLAIT_CHROOT needs root: chroot and mount are not for others") unless Process.uid.zero?

        Dir.mktmpdir("plait-chroot-") do |layer|
          run.call(environment, "unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh",
                   @system, layer, folder, @program, layered? ? "layered" : "itself", *arguments, unsetenv_others: true)
        end
      end

      private

      def layered? = true

      def environment
        { "PATH" => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME" => "/root",
          "JRUBY_OPTS" => "--dev", # not compiled for speed: most of a short run of tests is start-up
          "LANG" => "C.UTF-8", "SSL_CERT_FILE" => "/etc/ssl/certs/ca-certificates.crt",
          "PLAIT_INSTALL" => ENV.fetch("PLAIT_INSTALL", layered? ? "0" : "1"),
          **ENV.slice("PLAIT_JOBS", "PLAIT_TEST_TIMEOUT", "PLAIT_FILE_TIMEOUT") }
      end
    end
  end
end
