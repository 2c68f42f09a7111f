PATH=$PATH:/usr/local/bin
tart --version
