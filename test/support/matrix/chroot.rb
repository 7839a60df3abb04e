# frozen_string_literal: true

require "tmpdir"
require_relative "workspace"

module Support
  class Matrix
    # The Ruby of another system in a folder. It sees that system under a layer of its own, so that nothing in the
    # folder is changed, and the copy of the project at /mnt; the mounts are gone with the process. It resolves and
    # trusts what this machine does.
    class Chroot
      ENTER = <<~SH
        set -e
        mount -t tmpfs tmpfs "$2"
        mkdir "$2/upper" "$2/work" "$2/root"
        mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
        cp -L /etc/hosts /etc/resolv.conf "$2/root/etc/"
        mkdir -p "$2/root/etc/ssl/certs"
        cp -L /etc/ssl/certs/ca-certificates.crt "$2/root/etc/ssl/certs/" || true
        mount -t proc proc "$2/root/proc"
        mount --rbind /dev "$2/root/dev"
        mount --bind "$3" "$2/root/mnt"
        root="$2/root"
        shift 3
        exec chroot "$root" /usr/bin/env sh -c 'cd /mnt && exec ruby bin/test "$@"' sh "$@"
      SH

      # @return [Array<Chroot>]
      def self.all = ENV["PLAIT_CHROOT"] ? [new(ENV["PLAIT_CHROOT"])] : []

      def initialize(system)
        @system = system
      end

      def name
        version = IO.popen(["chroot", @system, "ruby", "-e", "print RUBY_VERSION", { err: File::NULL }], &:read)
        version.empty? ? "chroot" : "ruby #{version} (chroot)"
      end

      # @return [Boolean] whether the tests passed
      def test(folder, arguments)
        return needs_root unless Process.uid.zero?

        Dir.mktmpdir("plait-chroot-") do |layer|
          system(environment, "unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh",
                 @system, layer, folder, *arguments, unsetenv_others: true)
        end || false
      end

      private

      def environment
        { "PATH" => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME" => "/root",
          "LANG" => "C.UTF-8", "SSL_CERT_FILE" => "/etc/ssl/certs/ca-certificates.crt",
          "PLAIT_INSTALL" => ENV.fetch("PLAIT_INSTALL", "0"), "PLAIT_JOBS" => ENV.fetch("PLAIT_JOBS", nil) }.compact
      end

      def needs_root
        warn("PLAIT_CHROOT needs root: chroot and mount are not for others")
        false
      end
    end
  end
end
