# frozen_string_literal: true

module Support
  # The system packages that the tests can use, of Debian and its kin, and how to get the missing ones.
  class Packages
    # What is looked for, by the package that has it: a program, or a file (a glob).
    ALL = {
      "build-essential" => %w[make],
      "ruby-dev" => [File.join(RbConfig::CONFIG["rubyhdrdir"], "ruby.h")],
      "libssl-dev" => %w[/usr/include/openssl/ssl.h],
      "libmariadb-dev" => %w[mariadb_config mysql_config],
      "libpq-dev" => %w[pg_config],
      "redis-server" => %w[redis-server valkey-server],
      "nutcracker" => %w[nutcracker],
      "mariadb-server" => %w[mariadbd mysqld],
      "postgresql" => %w[postgres /usr/lib/postgresql/*/bin/postgres],
      "nginx" => %w[nginx],
      "haproxy" => %w[haproxy],
      "apache2-bin" => %w[apache2 httpd],
      "curl" => %w[curl],
      "tcl" => %w[tclsh],
      "neovim" => %w[nvim],
      "python3-pynvim" => %w[/usr/lib/python3/dist-packages/pynvim],
      "nodejs" => %w[node],
      "npm" => %w[npm],
      "gcc-aarch64-linux-gnu" => %w[aarch64-linux-gnu-gcc],
      "libc6-dev-arm64-cross" => %w[/usr/aarch64-linux-gnu/include/stdio.h],
      "golang-go" => %w[go /usr/lib/go*/bin/go],
      "golang-github-ugorji-go-codec-dev" => %w[/usr/share/gocode/src/github.com/ugorji/go/codec],
      "chromium" => %w[chromium chromium-browser google-chrome],
      "default-jre-headless" => %w[java]
    }.freeze
    # What without which a gem of the group "drivers" can't be compiled.
    FOR_DRIVERS = %w[build-essential ruby-dev libssl-dev libmariadb-dev].freeze
    POLICY = "/usr/sbin/policy-rc.d"

    # @param names [Array<String>] those that are needed
    def initialize(names = ALL.keys)
      @names = names
    end

    # @return [Array<String>] the packages of which nothing is found here
    def missing = @names.reject { |name| here?(name) }

    # @return [Boolean]
    def drivers? = FOR_DRIVERS.all? { |name| here?(name) }

    # @return [Boolean]
    def java? = here?("default-jre-headless")

    # @return [Boolean] whether this user may install without being asked for a password
    def may_install? = !program("apt-get").nil? && (root? || system("sudo", "-n", "true", %i[out err] => File::NULL))

    def command(packages = missing) = "sudo apt-get install -y --no-install-recommends #{packages.join(" ")}"

    # @yieldparam line [String] what is going on
    # @return [Boolean] whether all are there now
    def install
      without_services do
        yield "installing #{missing.join(" ")} …"
        apt("update") && apt("install", "-y", "--no-install-recommends", *missing)
      end
      missing.empty?
    end

    private

    def root? = Process.uid.zero?

    def sudo = root? ? [] : ["sudo", "-n"]

    def here?(name) = ALL.fetch(name).any? { |sign| present?(sign) }

    def present?(sign) = sign.include?("/") ? Dir[sign].any? : !program(sign).nil?

    def program(name)
      (ENV["PATH"].split(":") + %w[/usr/sbin /usr/local/sbin]).find do |folder|
        File.executable?(File.join(folder, name))
      end
    end

    # env, because sudo drops our environment. The lock: another apt may be at work (a fresh machine updates itself).
    def apt(*arguments)
      output = IO.popen([*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o",
                         "DPkg::Lock::Timeout=300", *arguments, { in: File::NULL, err: %i[child out] }], &:read)
      return true if Process.last_status.success?

      warn(output.lines.last(15).join)
      false
    end

    # Debian starts a server as soon as its package is installed, unless this file forbids it. Tests start their own.
    def without_services
      return yield if File.exist?(POLICY)

      begin
        IO.popen([*sudo, "sh", "-c", "printf '#!/bin/sh\\nexit 101\\n' > #{POLICY} && chmod +x #{POLICY}"], &:read)
        yield
      ensure
        system(*sudo, "rm", "-f", POLICY)
      end
    end
  end
end
